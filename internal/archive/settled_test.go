package archive_test

import (
	"context"
	"io"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/retention"
	"holdfast/internal/archive"
	"holdfast/persistence"
)

// dueFiles are how many files of the archive are known, and how many of these may hold what was expunged.
func dueFiles(t *testing.T, store *persistence.Store) (files, due int64) {
	t.Helper()
	stats, err := store.Upkeep.ArchiveStats(t.Context())
	require.NoError(t, err)
	return stats.Files, stats.Due
}

// A file is settled as soon as all its rows are deleted. Until then one of its events may be being expunged, so it is due:
//   - while it is being written: it doesn't exist yet, and another worker doesn't drop it
//   - after a row of it has changed, and so was not deleted
//   - until it is so old that no transaction of its time can be open
func TestAFileIsDueUntilItsRowsAreRemoved(t *testing.T) {
	store, bucket := open(t), buckets(t)["folder"]
	archiver := &archive.Archiver{Store: store.Upkeep, Bucket: bucket}
	process(t, store, receiptAt(0), bodyOf(0))
	require.EqualValues(t, 1, purge(t, archiver, retention.Events))
	files, due := dueFiles(t, store)
	require.Equal(t, []int64{1, 0}, []int64{files, due}, "all of it is removed")

	for n := range 2 {
		process(t, store, receiptAt(1+n), bodyOf(1+n))
	}
	writing := failing{bucket, func() error {
		require.NoError(t, archiver.Clean(t.Context()))
		files, due := dueFiles(t, store)
		require.Equal(t, []int64{2, 1}, []int64{files, due}, "it is about to be written")
		return nil
	}, func() error {
		changed := eventsOf(t, store)[0].Receipt
		parsed, err := parse(changed, bodyOf(2))
		require.NoError(t, err)
		parsed.Type = "customer.corrected"
		_, err = store.Writer.Write(t.Context(), event.EntitiesOnly, changed, nil, parsed, runOf(changed))
		return err
	}}
	removed, err := (&archive.Archiver{Store: store.Upkeep, Bucket: writing}).PurgeBatch(t.Context(), retention.Events, time.Now())
	require.NoError(t, err)
	require.EqualValues(t, 1, removed)
	for _, when := range []string{"not all of it is removed", "and it is young"} {
		files, due := dueFiles(t, store)
		require.Equal(t, []int64{2, 1}, []int64{files, due}, when)
		require.NoError(t, archiver.Clean(t.Context()))
	}
	require.NoError(t, (&archive.Archiver{Store: aged{store.Upkeep}, Bucket: bucket}).Clean(t.Context()))
	files, due = dueFiles(t, store)
	require.Equal(t, []int64{2, 0}, []int64{files, due})
}

// missing is a bucket without its files.
type missing struct{ archive.Bucket }

func (missing) Get(context.Context, string) (io.ReadCloser, error) { return nil, fs.ErrNotExist }

// A file whose writer dies once it is written is due, and is not forgotten where it isn't found: only one that was never written
// is.
func TestAFileThatWasWrittenIsNotForgotten(t *testing.T) {
	store, bucket := open(t), buckets(t)["folder"]
	process(t, store, receiptAt(0), bodyOf(0))
	_, err := (&archive.Archiver{Store: dying{store.Upkeep}, Bucket: bucket}).PurgeBatch(t.Context(), retention.Events, time.Now())
	require.ErrorIs(t, err, errKilled)
	files, due := dueFiles(t, store)
	require.Equal(t, []int64{1, 1}, []int64{files, due})

	elsewhere := &archive.Archiver{Store: aged{store.Upkeep}, Bucket: missing{bucket}}
	require.ErrorContains(t, elsewhere.Clean(t.Context()), "is missing")
	files, due = dueFiles(t, store)
	require.Equal(t, []int64{1, 1}, []int64{files, due})
	require.NoError(t, (&archive.Archiver{Store: aged{store.Upkeep}, Bucket: bucket}).Clean(t.Context()))
	files, due = dueFiles(t, store)
	require.Equal(t, []int64{1, 0}, []int64{files, due})
}
