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

// Store is what is kept, and what is known of the files.
type Store interface {
	PurgeBatch(ctx context.Context, kept retention.Kept, before time.Time) (int64, error)
	PurgeBatchBy(ctx context.Context, kept retention.Kept, before time.Time, by oversight.Actor) (int64, error)
	// Outdated reads some of what was kept since before a time, the oldest first, and changes nothing. Only events and dead letters
	// are read so.
	Outdated(ctx context.Context, kept retention.Kept, before time.Time) ([]retention.Outdated, error)
	// PurgeOutdated removes what was read, as far as it is still the same. Of nothing, it removes what goes with events that are
	// gone. By is nil for the schedule.
	PurgeOutdated(
		ctx context.Context, kept retention.Kept, before time.Time, all []retention.Outdated, by *oversight.Actor,
	) (int64, error)

	// AddArchiveFile notes a file before it is written, and once it is.
	AddArchiveFile(ctx context.Context, f retention.ArchiveFile) error
	// DueArchiveFiles are some files that may hold what was expunged, by name, from behind a name on.
	DueArchiveFiles(ctx context.Context, after string) ([]retention.ArchiveFile, error)
	// ExpungedBetween are the IDs of the events between two IDs that were expunged.
	ExpungedBetween(ctx context.Context, first, last string) ([]string, error)
	// SettleArchiveFile says that what was expunged is not in a file, unless something was expunged since the file was read.
	SettleArchiveFile(ctx context.Context, f retention.ArchiveFile) error
	// DropArchiveFile forgets a file.
	DropArchiveFile(ctx context.Context, name string) error
	// ArchiveStats counts the files that are known.
	ArchiveStats(ctx context.Context) (retention.ArchiveStats, error)
}

// settledAfter is how old a file is once no transaction can be under way that was when it was written.
const settledAfter = 10 * time.Minute

// maxFailures bounds how many files an error names.
const maxFailures = 5

// Keeper purges as a store does, and keeps events and dead letters in an archive first. It may run beside others.
type Keeper struct {
	Store  Store
	Bucket Bucket
}

// PurgeBatch removes some of what was kept since before a time, and says how much of it has gone: 0 says that nothing is left.
// Where the archive cannot be written nothing goes.
func (k *Keeper) PurgeBatch(ctx context.Context, kept retention.Kept, before time.Time) (int64, error) {
	if kept != retention.Events && kept != retention.DeadLetters {
		return k.Store.PurgeBatch(ctx, kept, before)
	}
	return k.purge(ctx, kept, before, nil)
}

// PurgeBatchBy is PurgeBatch for an operator.
func (k *Keeper) PurgeBatchBy(ctx context.Context, kept retention.Kept, before time.Time, by oversight.Actor) (int64, error) {
	if kept != retention.Events && kept != retention.DeadLetters {
		return k.Store.PurgeBatchBy(ctx, kept, before, by)
	}
	return k.purge(ctx, kept, before, &by)
}

// purge ends with what was expunged. A file that cannot be cleaned stays due, and holds up no purge.
func (k *Keeper) purge(ctx context.Context, kept retention.Kept, before time.Time, by *oversight.Actor) (int64, error) {
	old, err := k.Store.Outdated(ctx, kept, before)
	if err != nil {
		return 0, err
	}
	if len(old) == 0 {
		removed, err := k.Store.PurgeOutdated(ctx, kept, before, nil, by)
		if err == nil && removed == 0 {
			warn(ctx, k.Clean(ctx))
		}
		return removed, err
	}
	file := fileOf(kept, old)
	if err := k.write(ctx, &file, old); err != nil {
		return 0, fmt.Errorf("archive: write %s (nothing was removed): %w", file.Name, err)
	}
	removed, err := k.Store.PurgeOutdated(ctx, kept, before, old, by)
	if err == nil {
		warn(ctx, k.clean(ctx, file, removed == int64(len(old))))
	}
	return removed, err
}

func warn(ctx context.Context, err error) {
	if err != nil {
		slog.WarnContext(ctx, "archive.clean_failed", "error", err.Error())
	}
}

func (k *Keeper) write(ctx context.Context, file *retention.ArchiveFile, old []retention.Outdated) error {
	content, err := encode(old)
	if err != nil {
		return err
	}
	isNew, err := k.isNew(ctx)
	if err == nil && isNew {
		err = k.Bucket.Mark(ctx, true)
	}
	if err != nil {
		return err
	}
	if err := k.Store.AddArchiveFile(ctx, *file); err != nil {
		return err
	}
	if err := k.Bucket.Put(ctx, file.Name, content); err != nil {
		return err
	}
	file.Looked = 1
	return k.Store.AddArchiveFile(ctx, *file)
}

// fileOf is a file for what is outdated. Names sort by the time of the first event, or of the first dead letter's end, and are
// the same for the same rows: an attempt that is repeated writes over its file.
func fileOf(kept retention.Kept, old []retention.Outdated) retention.ArchiveFile {
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
	f.Name = fmt.Sprintf("%s/%s-%x.ndjson.zst", kept, begin.Format("2006/01/02/20060102T150405.000Z"), rows.Sum(nil)[:10])
	return f
}

func timeOf(o retention.Outdated) time.Time {
	if o.Event != nil {
		return o.Event.Receipt.ReceivedAt
	}
	return *cmp.Or(o.DeadLetter.ResolvedAt, o.DeadLetter.DiscardedAt, &o.DeadLetter.LastFailed)
}

// Clean takes out of files what was expunged after it had come to the archive, or while it did. The error joins those of some
// files; it has looked at the others.
func (k *Keeper) Clean(ctx context.Context) error {
	if _, err := k.isNew(ctx); err != nil {
		return err
	}
	var failures []error
	for after := ""; ; {
		due, err := k.Store.DueArchiveFiles(ctx, after)
		if err != nil || len(due) == 0 {
			return errors.Join(append(failures, err)...)
		}
		for _, f := range due {
			if err := k.clean(ctx, f, false); err != nil && len(failures) < maxFailures {
				failures = append(failures, err)
			}
			if err := ctx.Err(); err != nil {
				return errors.Join(append(failures, err)...)
			}
		}
		after = due[len(due)-1].Name
	}
}

// clean does so for one file. Where all that it holds is known to be removed, nobody can be expunging what was read for it. Else
// whoever has written it may have died before, or may be about to write it.
func (k *Keeper) clean(ctx context.Context, f retention.ArchiveFile, isRemoved bool) error {
	isOld := time.Since(f.At) > settledAfter
	expunged, err := k.Store.ExpungedBetween(ctx, f.FirstID, f.LastID)
	if err != nil {
		return err
	}
	if len(expunged) > 0 || !isRemoved {
		err = k.rewrite(ctx, f, expunged)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.Looked > 0:
		return fmt.Errorf("archive: %s was written, and is not there: it was removed, or HOLDFAST_ARCHIVE is another archive", f.Name)
	case errors.Is(err, fs.ErrNotExist) && isOld: // it was never written
		return k.Store.DropArchiveFile(ctx, f.Name)
	case errors.Is(err, fs.ErrNotExist):
		return nil // somebody is about to write it
	case err != nil:
		return fmt.Errorf("archive: take what was expunged out of %s: %w", f.Name, err)
	case isRemoved || isOld:
		return k.Store.SettleArchiveFile(ctx, f)
	}
	return nil
}

func (k *Keeper) rewrite(ctx context.Context, f retention.ArchiveFile, expunged []string) error {
	file, err := k.Bucket.Get(ctx, f.Name)
	if err != nil {
		return err
	}
	defer file.Close()
	rest, left, err := without(file, expunged)
	if err != nil || left == 0 {
		return err
	}
	return k.Bucket.Put(ctx, f.Name, rest)
}

// isNew says whether nothing was written yet. The error says that something was, and that this is another archive.
func (k *Keeper) isNew(ctx context.Context) (bool, error) {
	known, err := k.Store.ArchiveStats(ctx)
	if err != nil || known.Files == 0 {
		return err == nil, err
	}
	return false, k.Bucket.Mark(ctx, false)
}

// Check says whether the archive can be written and read.
func (k *Keeper) Check(ctx context.Context) error {
	if _, err := k.isNew(ctx); err != nil {
		return err
	}
	return Check(ctx, k.Bucket)
}

// probe is a file that is there for an instant.
const probe = "holdfast-probe"

// Check says whether a bucket can be written and read.
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
