package archive_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/retention"
	"holdfast/internal/archive"
)

// An archiver that is configured with another archive drops no file from the list. Expunged events are removed once an archiver uses
// the right one.
func TestAMissingArchiveFileIsNotForgotten(t *testing.T) {
	store, bucket := open(t), buckets(t)["folder"]
	archiver := &archive.Archiver{Store: aged{store.Upkeep}, Bucket: bucket}
	for n := range 3 {
		process(t, store, receiptAt(n), bodyOf(n))
	}
	ids := []string{}
	for _, r := range eventsOf(t, store) {
		ids = append(ids, r.Receipt.ID)
	}
	require.EqualValues(t, 3, purge(t, archiver, retention.Events))
	_, err := store.Upkeep.Expunge(t.Context(), ids[0], 0, by)
	require.NoError(t, err)

	laptop := &archive.Archiver{Store: aged{store.Upkeep}, Bucket: buckets(t)["folder"]}
	require.ErrorContains(t, laptop.Clean(t.Context()), "HOLDFAST_ARCHIVE")
	require.NoError(t, archiver.Clean(t.Context()))
	require.NotContains(t, archived(t, bucket), ids[0])
	stats, err := store.Upkeep.ArchiveStats(t.Context())
	require.NoError(t, err)
	require.Zero(t, stats.Due)
}

// An archive folder that is now empty or missing is a disk that isn't mounted:
//   - nothing is purged or written, no file is dropped, and the check of doctor reports it
//   - once it is mounted the purge goes on
//   - another folder becomes the archive once an operator has marked it
func TestAnUnmountedFolderIsNotAnArchive(t *testing.T) {
	store, root := open(t), filepath.Join(t.TempDir(), "archive")
	bucket, err := archive.Open("file://" + root)
	require.NoError(t, err)
	archiver := &archive.Archiver{Store: aged{store.Upkeep}, Bucket: bucket}
	require.NoError(t, archiver.Check(t.Context()), "it is yet to be begun")
	require.NoError(t, archiver.Clean(t.Context()))
	process(t, store, receiptAt(0), bodyOf(0))
	require.EqualValues(t, 1, purge(t, archiver, retention.Events))
	process(t, store, receiptAt(1), bodyOf(1))
	require.NoError(t, os.Rename(root, root+".disk"))
	for _, place := range []string{"is gone", "is empty"} {
		_, err = archiver.PurgeBatch(t.Context(), retention.Events, time.Now())
		require.ErrorContains(t, err, "nothing was removed", place)
		require.ErrorContains(t, err, "not mounted", place)
		require.ErrorContains(t, archiver.Check(t.Context()), "not mounted", place)
		require.ErrorContains(t, archiver.Clean(t.Context()), "not mounted", place)
		require.Len(t, eventsOf(t, store), 1)
		left, _ := os.ReadDir(root)
		require.Empty(t, left, place)
		if place == "is gone" {
			require.NoError(t, os.Mkdir(root, 0o700))
		}
	}

	require.NoError(t, os.WriteFile(filepath.Join(root, "holdfast-archive"), nil, 0o600))
	require.NoError(t, archiver.Check(t.Context()))
	require.EqualValues(t, 1, purge(t, archiver, retention.Events), "it is a new one")
	require.NoError(t, os.RemoveAll(root))
	require.NoError(t, os.Rename(root+".disk", root))
	require.NoError(t, archiver.Check(t.Context()))
}

// aged is a store all of whose files were written long ago.
type aged struct{ archive.Store }

func (a aged) DueArchiveFiles(ctx context.Context, after string) ([]retention.ArchiveFile, error) {
	all, err := a.Store.DueArchiveFiles(ctx, after)
	for i := range all {
		all[i].At = longAgo
	}
	return all, err
}

// A file that was noted and never written is forgotten; one that is written so late that it was forgotten is noted again.
func TestAFileThatWasNeverWrittenIsForgotten(t *testing.T) {
	store, bucket := open(t), buckets(t)["folder"]
	process(t, store, receiptAt(0), bodyOf(0))
	process(t, store, receiptAt(1), bodyOf(1))
	full := errors.New("no space left on device")
	archiver := &archive.Archiver{Store: store.Upkeep, Bucket: failing{bucket, func() error { return full }, nil}}
	_, err := archiver.PurgeBatch(t.Context(), retention.Events, time.Now())
	require.ErrorIs(t, err, full)
	another := &archive.Archiver{Store: aged{store.Upkeep}, Bucket: bucket}
	files := func() int64 {
		stats, err := store.Upkeep.ArchiveStats(t.Context())
		require.NoError(t, err)
		return stats.Files
	}
	require.EqualValues(t, 1, files())
	require.NoError(t, another.Clean(t.Context()))
	require.Zero(t, files())

	expunged := eventsOf(t, store)[0].Receipt.ID
	archiver.Bucket = failing{bucket, func() error {
		_, err := store.Upkeep.Expunge(t.Context(), expunged, 0, by)
		return errors.Join(err, another.Clean(t.Context()))
	}, nil}
	_, err = archiver.PurgeBatch(t.Context(), retention.Events, time.Now())
	require.NoError(t, err)
	require.EqualValues(t, 1, files())
	require.NotContains(t, archived(t, bucket), expunged)
}

// unreadable is a bucket one of whose files cannot be read.
type unreadable struct {
	archive.Bucket

	name string
}

var errFrozen = errors.New("the object is in another storage class")

func (u unreadable) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	if name == u.name {
		return nil, errFrozen
	}
	return u.Bucket.Get(ctx, name)
}

// A file that can't be read or rewritten blocks neither a purge nor other files.
func TestAFileInTroubleHoldsUpNothingElse(t *testing.T) {
	store, bucket := open(t), buckets(t)["folder"]
	archiver := &archive.Archiver{Store: store.Upkeep, Bucket: bucket}
	var ids []string
	for n := range 2 {
		process(t, store, receiptAt(n), bodyOf(n))
		ids = append(ids, eventsOf(t, store)[0].Receipt.ID)
		require.EqualValues(t, 1, purge(t, archiver, retention.Events))
	}
	names, err := bucket.List(t.Context())
	require.NoError(t, err)
	require.Len(t, names, 2)
	for _, id := range ids {
		_, err := store.Upkeep.Expunge(t.Context(), id, 0, by)
		require.NoError(t, err)
	}
	process(t, store, receiptAt(2), bodyOf(2))
	archiver.Bucket = unreadable{bucket, names[0]}
	require.EqualValues(t, 1, purge(t, archiver, retention.Events))
	archiver.Store = aged{store.Upkeep}
	require.ErrorIs(t, archiver.Clean(t.Context()), errFrozen)
	stats, err := store.Upkeep.ArchiveStats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, stats.Due)
	require.NotContains(t, archived(t, bucket), ids[1])
}

// However often an attempt fails after its file is written, as where a bucket may be written and not read, there is one file of the
// same rows.
func TestAnAttemptThatIsRepeatedWritesTheSameFile(t *testing.T) {
	store, bucket := open(t), buckets(t)["folder"]
	process(t, store, receiptAt(0), bodyOf(0))
	process(t, store, receiptAt(1), bodyOf(1))
	forbidden := errors.New("may not be read")
	archiver := &archive.Archiver{Store: store.Upkeep, Bucket: failing{bucket, nil, func() error { return forbidden }}}
	for range 3 {
		_, err := archiver.PurgeBatch(t.Context(), retention.Events, time.Now())
		require.ErrorIs(t, err, forbidden)
	}
	stats, err := store.Upkeep.ArchiveStats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, stats.Files)
	archiver.Bucket = bucket
	require.EqualValues(t, 2, purge(t, archiver, retention.Events))
	require.Len(t, lines(t, bucket), 2)
	archiver.Store = aged{store.Upkeep}
	require.NoError(t, archiver.Clean(t.Context()))
	stats, err = store.Upkeep.ArchiveStats(t.Context())
	require.NoError(t, err)
	require.Zero(t, stats.Due)
}

// A slow worker that writes the rows of another, which has removed them since, brings nothing back that was expunged meanwhile.
func TestASlowWorkerBringsNothingBack(t *testing.T) {
	store, bucket := open(t), buckets(t)["folder"]
	process(t, store, receiptAt(0), bodyOf(0))
	process(t, store, receiptAt(1), bodyOf(1))
	expunged := eventsOf(t, store)[0].Receipt.ID
	fast := &archive.Archiver{Store: store.Upkeep, Bucket: bucket}
	var overtaken sync.Once
	slow := &archive.Archiver{Store: store.Upkeep, Bucket: failing{bucket, func() error {
		overtaken.Do(func() {
			require.EqualValues(t, 2, purge(t, fast, retention.Events))
			_, err := store.Upkeep.Expunge(t.Context(), expunged, 0, by)
			require.NoError(t, err)
			require.NoError(t, fast.Clean(t.Context()))
		})
		return nil
	}, nil}}
	removed, err := slow.PurgeBatch(t.Context(), retention.Events, time.Now())
	require.NoError(t, err)
	require.Zero(t, removed)
	require.NotContains(t, archived(t, bucket), expunged)
	require.NotEmpty(t, archived(t, bucket))
}
