package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"holdfast/event/oversight"
	"holdfast/event/retention"
)

// Store stores the data to purge and the list of archive files.
type Store interface {
	PurgeBatch(ctx context.Context, kind retention.Kind, before time.Time) (int64, error)
	PurgeBatchBy(ctx context.Context, kind retention.Kind, before time.Time, by oversight.Actor) (int64, error)
	// Outdated returns some of the oldest expired events or dead letters.
	Outdated(ctx context.Context, kind retention.Kind, before time.Time) ([]retention.Outdated, error)
	// PurgeOutdated deletes the rows that haven't changed since they were read. Without rows, it deletes data of events that are
	// already deleted. by is nil for the schedule.
	PurgeOutdated(
		ctx context.Context, kind retention.Kind, before time.Time, all []retention.Outdated, by *oversight.Actor,
	) (int64, error)

	// AddArchiveFile records a file before and after it is written.
	AddArchiveFile(ctx context.Context, f retention.ArchiveFile) error
	// DueArchiveFiles returns some files after a name that may contain expunged events, ordered by name.
	DueArchiveFiles(ctx context.Context, after string) ([]retention.ArchiveFile, error)
	// ExpungedBetween returns the IDs of expunged events between two IDs.
	ExpungedBetween(ctx context.Context, first, last string) ([]string, error)
	// SettleArchiveFile records that a file contains no expunged events, unless one was expunged since the file was read.
	SettleArchiveFile(ctx context.Context, f retention.ArchiveFile) error
	// DropArchiveFile removes a file from the list.
	DropArchiveFile(ctx context.Context, name string) error
	ArchiveStats(ctx context.Context) (retention.ArchiveStats, error)
}

// settledAfter is the age of a file from which no transaction can be open that was open when it was written.
const settledAfter = 10 * time.Minute

// maxFailures bounds the files named in an error.
const maxFailures = 5

// Archiver archives events and dead letters before purging them. Several may run concurrently.
type Archiver struct {
	Store  Store
	Bucket Bucket
}

// PurgeBatch deletes some of the data older than a time and returns the number of deletions; 0 means that none is left. If the
// archive isn't writable, nothing is deleted.
func (a *Archiver) PurgeBatch(ctx context.Context, kind retention.Kind, before time.Time) (int64, error) {
	if kind != retention.Events && kind != retention.DeadLetters {
		return a.Store.PurgeBatch(ctx, kind, before)
	}
	return a.purge(ctx, kind, before, nil)
}

// PurgeBatchBy is PurgeBatch for an operator.
func (a *Archiver) PurgeBatchBy(ctx context.Context, kind retention.Kind, before time.Time, by oversight.Actor) (int64, error) {
	if kind != retention.Events && kind != retention.DeadLetters {
		return a.Store.PurgeBatchBy(ctx, kind, before, by)
	}
	return a.purge(ctx, kind, before, &by)
}

// purge also removes expunged events from files when it is done. A file that can't be cleaned stays due and doesn't block the
// purge.
func (a *Archiver) purge(ctx context.Context, kind retention.Kind, before time.Time, by *oversight.Actor) (int64, error) {
	old, err := a.Store.Outdated(ctx, kind, before)
	if err != nil {
		return 0, err
	}
	if len(old) == 0 {
		removed, err := a.Store.PurgeOutdated(ctx, kind, before, nil, by)
		if err == nil && removed == 0 {
			warn(ctx, a.Clean(ctx))
		}
		return removed, err
	}
	file := fileOf(kind, old)
	if err := a.write(ctx, &file, old); err != nil {
		return 0, fmt.Errorf("archive: write %s (nothing was removed): %w", file.Name, err)
	}
	removed, err := a.Store.PurgeOutdated(ctx, kind, before, old, by)
	if err == nil {
		warn(ctx, a.clean(ctx, file, removed == int64(len(old))))
	}
	return removed, err
}

func warn(ctx context.Context, err error) {
	if err != nil {
		slog.WarnContext(ctx, "archive.clean_failed", "error", err.Error())
	}
}

func (a *Archiver) write(ctx context.Context, file *retention.ArchiveFile, old []retention.Outdated) error {
	content, err := encode(old)
	if err != nil {
		return err
	}
	isNew, err := a.isNew(ctx)
	if err == nil && isNew {
		err = a.Bucket.Mark(ctx, true)
	}
	if err != nil {
		return err
	}
	if err := a.Store.AddArchiveFile(ctx, *file); err != nil {
		return err
	}
	if err := a.Bucket.Put(ctx, file.Name, content); err != nil {
		return err
	}
	file.CheckedExpunges = 1
	return a.Store.AddArchiveFile(ctx, *file)
}

// fileOf describes the file for expired rows. Names sort by the time of the first event or dead letter, and depend only on the
// rows: a repeated attempt overwrites its file.
func fileOf(kind retention.Kind, old []retention.Outdated) retention.ArchiveFile {
	ids, rows := make([]string, len(old)), sha256.New()
	for i, o := range old {
		ids[i] = o.Receipt().ID
		fmt.Fprintln(rows, ids[i], o.Version)
		if o.DeadLetter != nil {
			fmt.Fprintln(rows, o.DeadLetter.ID)
		}
	}
	f := retention.ArchiveFile{
		FirstID: slices.Min(ids), LastID: slices.Max(ids), Lines: len(old), Expunges: 2, At: time.Now().UTC(),
	}
	begin := timeOf(old[0]).UTC()
	f.Name = fmt.Sprintf("%s/%s-%x.ndjson.zst", kind, begin.Format("2006/01/02/20060102T150405.000Z"), rows.Sum(nil)[:10])
	return f
}

func timeOf(o retention.Outdated) time.Time {
	if o.Event != nil {
		return o.Event.Receipt.ReceivedAt
	}
	return *cmp.Or(o.DeadLetter.ResolvedAt, o.DeadLetter.DiscardedAt, &o.DeadLetter.LastFailed)
}

// Clean removes expunged events from files. It continues after errors, and joins the errors of up to maxFailures files.
func (a *Archiver) Clean(ctx context.Context) error {
	if _, err := a.isNew(ctx); err != nil {
		return err
	}
	var failures []error
	for after := ""; ; {
		due, err := a.Store.DueArchiveFiles(ctx, after)
		if err != nil || len(due) == 0 {
			return errors.Join(append(failures, err)...)
		}
		for _, f := range due {
			if err := a.clean(ctx, f, false); err != nil && len(failures) < maxFailures {
				failures = append(failures, err)
			}
			if err := ctx.Err(); err != nil {
				return errors.Join(append(failures, err)...)
			}
		}
		after = due[len(due)-1].Name
	}
}

// clean removes expunged events from one file. If all its rows are known to be deleted, none of them can be expunged
// concurrently. Otherwise the process that writes the file may have died, or may be about to write it.
func (a *Archiver) clean(ctx context.Context, f retention.ArchiveFile, isRemoved bool) error {
	isOld := time.Since(f.At) > settledAfter
	expunged, err := a.Store.ExpungedBetween(ctx, f.FirstID, f.LastID)
	if err != nil {
		return err
	}
	if len(expunged) > 0 || !isRemoved {
		err = a.rewrite(ctx, f, expunged)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.CheckedExpunges > 0:
		return fmt.Errorf("archive: %s is missing: it was deleted, or HOLDFAST_ARCHIVE is another archive", f.Name)
	case errors.Is(err, fs.ErrNotExist) && isOld: // never written
		return a.Store.DropArchiveFile(ctx, f.Name)
	case errors.Is(err, fs.ErrNotExist):
		return nil // another process is about to write it
	case err != nil:
		return fmt.Errorf("archive: remove expunged events from %s: %w", f.Name, err)
	case isRemoved || isOld:
		return a.Store.SettleArchiveFile(ctx, f)
	}
	return nil
}

func (a *Archiver) rewrite(ctx context.Context, f retention.ArchiveFile, expunged []string) error {
	file, err := a.Bucket.Get(ctx, f.Name)
	if err != nil {
		return err
	}
	defer file.Close()
	rest, removed, err := removeEvents(file, expunged)
	if err != nil || removed == 0 {
		return err
	}
	return a.Bucket.Put(ctx, f.Name, rest)
}

// isNew reports whether no file was written yet. The error means that files were written to another archive.
func (a *Archiver) isNew(ctx context.Context) (bool, error) {
	known, err := a.Store.ArchiveStats(ctx)
	if err != nil || known.Files == 0 {
		return err == nil, err
	}
	return false, a.Bucket.Mark(ctx, false)
}

// Check checks that the archive is readable and writable.
func (a *Archiver) Check(ctx context.Context) error {
	if _, err := a.isNew(ctx); err != nil {
		return err
	}
	return Check(ctx, a.Bucket)
}

const probe = "holdfast-probe"

// Check checks that a bucket is readable and writable.
func Check(ctx context.Context, b Bucket) error {
	if err := b.Put(ctx, probe, []byte("probe")); err != nil {
		return err
	}
	file, err := b.Get(ctx, probe)
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), b.Remove(ctx, probe))
}
