package archive_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/event/retention"
	"holdfast/internal/archive"
	"holdfast/persistence"
)

func readAll(t *testing.T, in io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(in)
	require.NoError(t, err)
	return string(text)
}

// What a purge has removed comes back into an empty installation as it was, from each kind of archive:
//   - events: ID, key, receipt, bytes, times, status; their entities are folded again
//   - an event that was given up, and dead letters that were resolved or discarded, whether or not their event has a row
//   - bytes that are no text
//   - keys: a redelivery is a duplicate
//   - once: the same archive imported again changes nothing
func TestPurgedEventsAreRestored(t *testing.T) {
	for name, bucket := range buckets(t) {
		t.Run(name, func(t *testing.T) {
			old, archiver := open(t), &archive.Archiver{Bucket: bucket}
			archiver.Store = old.Upkeep
			var receipts []event.Receipt
			for n := range 7 {
				r := receiptAt(n)
				receipts = append(receipts, r)
			}
			died(t, old, receipts[0], bodyOf(0)) // and is rescued
			for n := range 5 {
				process(t, old, receipts[n], bodyOf(n))
			}
			parsed, err := parse(receipts[5], bodyOf(5))
			require.NoError(t, err)
			_, err = old.Writer.Write(t.Context(), event.RowOnly, receipts[5], bodyOf(5), parsed, runOf(receipts[5]))
			require.NoError(t, err)
			for n, body := range map[int][]byte{5: bodyOf(5), 6: {0xff, 0, '{'}} {
				letter := died(t, old, receipts[n], body)
				require.NoError(t, old.DeadLetters.DiscardDeadLetter(t.Context(), letter.ID, by))
			}
			events, letters, entities := picture(t, old, receipts)
			require.Len(t, events, 6)
			require.Len(t, letters, 3)

			require.EqualValues(t, 3, purge(t, archiver, retention.DeadLetters))
			require.EqualValues(t, 6, purge(t, archiver, retention.Events))
			gone, _, _ := picture(t, old, receipts)
			require.Empty(t, gone)
			stats, err := old.Upkeep.ArchiveStats(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 2, stats.Files)
			require.Zero(t, stats.Due)

			fresh := open(t)
			counts := bring(t, fresh, bucket)
			require.Equal(t, operation.ImportCounts{operation.ImportEvent: {New: 6}, operation.ImportDeadLetter: {New: 3}}, counts)
			backEvents, backLetters, backEntities := picture(t, fresh, receipts)
			require.Equal(t, events, backEvents)
			require.Equal(t, letters, backLetters)
			require.Equal(t, entities, backEntities)

			counts = bring(t, fresh, bucket)
			require.Equal(t, operation.ImportCounts{operation.ImportEvent: {There: 6}, operation.ImportDeadLetter: {There: 3}}, counts)
			again := receiptAt(99)
			again.Key = receipts[0].Key
			persisted, err := fresh.Writer.Write(t.Context(), event.WholeEvent, again, bodyOf(0), parsed, runOf(again))
			require.NoError(t, err)
			require.True(t, persisted.Duplicate)
			require.Equal(t, receipts[0].ID, persisted.Owner)

			counts = bring(t, old, bucket)
			require.Equal(t, operation.ImportCounts{operation.ImportEvent: {New: 5, There: 1}, operation.ImportDeadLetter: {New: 3}}, counts,
				"an installation takes back what it has purged, but for what an operator has decided about")
		})
	}
}

// picture is what is stored of events, as JSON.
func picture(t *testing.T, store *persistence.Store, receipts []event.Receipt) (events, letters, entities []string) {
	t.Helper()
	text := func(v any) string {
		encoded, err := json.Marshal(v)
		require.NoError(t, err)
		return string(encoded)
	}
	for _, r := range receipts {
		record, err := store.Read.Event(t.Context(), r.ID)
		if err == nil {
			record.Links = nil
			require.Equal(t, r, record.Receipt)
			events = append(events, text(record)+string(record.Body))
		} else {
			require.ErrorIs(t, err, event.ErrNotFound)
		}
		all, err := store.DeadLetters.DeadLetters(t.Context(), event.DeadLetterQuery{EventID: r.ID})
		require.NoError(t, err)
		for _, d := range all {
			d, err := store.DeadLetters.DeadLetter(t.Context(), d.ID)
			require.NoError(t, err)
			d.ID = 0
			letters = append(letters, text(d)+string(d.Body))
		}
	}
	for _, id := range []string{"cus_0", "cus_1", "cus_2"} {
		e, err := store.Read.Entity(t.Context(), event.EntityRef{Provider: "stripe", Kind: "customer", ExternalID: id})
		require.NoError(t, err)
		entities = append(entities, text(e.State)+e.Last.EventID)
	}
	return events, letters, entities
}

// failing is a bucket that does not take a file, or does something before it does.
type failing struct {
	archive.Bucket

	before func() error
	after  func() error
}

func (f failing) Put(ctx context.Context, name string, content []byte) error {
	if f.before != nil {
		if err := f.before(); err != nil {
			return err
		}
	}
	err := f.Bucket.Put(ctx, name, content)
	if err == nil && f.after != nil {
		err = f.after()
	}
	return err
}

// dying is a store whose caller dies once its file is written.
type dying struct{ archive.Store }

var errKilled = errors.New("killed")

func (dying) PurgeOutdated(context.Context, retention.Kind, time.Time, []retention.Outdated, *oversight.Actor) (int64, error) {
	return 0, errKilled
}

// Nothing is removed that is not in the archive:
//   - where that cannot be written
//   - where it is written, and the process dies before it removes anything: the next attempt writes the same file
//   - where a row changes meanwhile: its lines are twice in the archive, and imported once
func TestNothingIsRemovedThatIsNotArchived(t *testing.T) {
	store := open(t)
	bucket := buckets(t)["folder"]
	for n := range 4 {
		process(t, store, receiptAt(n), bodyOf(n))
	}
	const rows = 4
	full := errors.New("no space left on device")
	archiver := &archive.Archiver{Store: store.Upkeep, Bucket: failing{bucket, func() error { return full }, nil}}
	_, err := archiver.PurgeBatch(t.Context(), retention.Events, time.Now())
	require.ErrorIs(t, err, full)
	require.ErrorContains(t, err, "nothing was removed")
	require.Len(t, eventsOf(t, store), rows)

	archiver.Bucket, archiver.Store = bucket, dying{store.Upkeep}
	_, err = archiver.PurgeBatch(t.Context(), retention.Events, time.Now())
	require.ErrorIs(t, err, errKilled)
	require.Len(t, eventsOf(t, store), rows)
	archiver.Store = store.Upkeep

	var changed event.Receipt
	archiver.Bucket = failing{bucket, nil, func() error {
		changed = eventsOf(t, store)[0].Receipt
		parsed, err := parse(changed, bodyOf(3))
		require.NoError(t, err)
		parsed.Type = "customer.corrected"
		_, err = store.Writer.Write(t.Context(), event.EntitiesOnly, changed, nil, parsed, runOf(changed))
		return err
	}}
	removed, err := archiver.PurgeBatch(t.Context(), retention.Events, time.Now())
	require.NoError(t, err)
	require.EqualValues(t, rows-1, removed)
	left := eventsOf(t, store)
	require.Len(t, left, 1)
	require.Equal(t, changed.ID, left[0].Receipt.ID)

	archiver.Bucket = bucket
	require.EqualValues(t, 1, purge(t, archiver, retention.Events))
	require.Len(t, lines(t, bucket), rows+1)
	fresh := open(t)
	require.Equal(t, operation.ImportCount{New: rows, There: 1}, bring(t, fresh, bucket)[operation.ImportEvent])
	require.Len(t, eventsOf(t, fresh), rows)
}

func eventsOf(t *testing.T, store *persistence.Store) []event.Record {
	t.Helper()
	all, err := store.Read.Events(t.Context(), event.RecordQuery{})
	require.NoError(t, err)
	return all
}

// What was expunged is not in the archive, whenever that was: before the purge, while it wrote, or long after; also where the file
// could not be written again at once.
func TestExpungedEventsAreNotArchived(t *testing.T) {
	for name, bucket := range buckets(t) {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			var ids []string
			for n := range 5 {
				r := receiptAt(n)
				ids = append(ids, r.ID)
				process(t, store, r, bodyOf(n))
			}
			letter := died(t, store, receiptAt(7), []byte("never seen again"))
			require.NoError(t, store.DeadLetters.DiscardDeadLetter(t.Context(), letter.ID, by))
			expunge := func(id string) {
				_, err := store.Upkeep.Expunge(t.Context(), id, 0, by)
				require.NoError(t, err)
			}
			expunge(ids[0])
			written := false
			archiver := &archive.Archiver{Store: store.Upkeep, Bucket: failing{bucket, func() error {
				if !written {
					written = true
					expunge(ids[1])
				}
				return nil
			}, nil}}
			require.EqualValues(t, 3, purge(t, archiver, retention.Events))
			require.EqualValues(t, 1, purge(t, archiver, retention.DeadLetters))
			require.Equal(t, []string{ids[2], ids[3], ids[4], letter.Receipt.ID}, archived(t, bucket))

			down := errors.New("down")
			archiver.Bucket = failing{bucket, func() error { return down }, nil}
			expunge(ids[3])
			expunge(letter.Receipt.ID)
			require.ErrorIs(t, archiver.Clean(t.Context()), down)
			stats, err := store.Upkeep.ArchiveStats(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 2, stats.Due)

			archiver.Bucket = bucket
			require.Zero(t, purge(t, archiver, retention.Events))
			require.Equal(t, []string{ids[2], ids[4]}, archived(t, bucket))
			require.NotContains(t, content(t, bucket), "never seen again")
			require.NotContains(t, content(t, bucket), "evt_3")
			names, err := bucket.List(t.Context())
			require.NoError(t, err)
			require.Len(t, names, 2, "files are written anew under their names")
			counts := bring(t, store, bucket)
			require.Equal(t, operation.ImportCount{New: 2}, counts[operation.ImportEvent])
		})
	}
}

// archived are the events that an archive is about.
func archived(t *testing.T, b archive.Bucket) (ids []string) {
	t.Helper()
	for _, l := range lines(t, b) {
		for _, item := range l.Items {
			ids = append(ids, item.Receipt.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// A bucket says that it can be used, or not.
func TestABucketIsChecked(t *testing.T) {
	for name, bucket := range buckets(t) {
		require.NoError(t, archive.Check(t.Context(), bucket), name)
		names, err := bucket.List(t.Context())
		require.NoError(t, err)
		require.Empty(t, names, name)
	}
	nowhere, err := archive.Open("file:///dev/null/archive")
	require.NoError(t, err)
	require.Error(t, archive.Check(t.Context(), nowhere))
	if address := startS3(t); address != "" {
		elsewhere, err := archive.Open(strings.Replace(address, "webhooks", "no-such-bucket", 1))
		require.NoError(t, err)
		require.ErrorContains(t, archive.Check(t.Context(), elsewhere), "bucket")
	}
}

// A bucket that can be read and not written is no archive: the check that the doctor makes fails, as a purge would.
func TestABucketThatCanOnlyBeReadIsRefused(t *testing.T) {
	address := startS3(t, "--readonly")
	if address == "" {
		t.Skip("there is no versitygw")
	}
	bucket, err := archive.Open(address)
	require.NoError(t, err)
	names, err := bucket.List(t.Context())
	require.NoError(t, err, "it can be read")
	require.Empty(t, names)
	archiver := &archive.Archiver{Store: open(t).Upkeep, Bucket: bucket}
	require.ErrorContains(t, archiver.Check(t.Context()), "Access Denied")
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, problem := range map[string]string{
		"file:///var/archive":                              "",
		"s3://bucket":                                      "",
		"s3://bucket/a/b?region=eu-central-1":              "",
		"s3://bucket?endpoint=https://s3.example.com:9000": "",
		"file://relative/path":                             "neither",
		"/var/archive":                                     "neither",
		"https://bucket.s3.amazonaws.com":                  "neither",
		"s3://key:secret@bucket":                           "credentials",
		"s3://bucket?endpoint=s3.example.com":              "endpoint",
		"s3://bucket?acl=public-read":                      `parameter "acl"`,
	} {
		_, err := archive.Open(address)
		if problem == "" {
			require.NoError(t, err, address)
		} else {
			require.ErrorContains(t, err, problem, address)
			require.NotContains(t, err.Error(), "secret")
		}
	}
}
