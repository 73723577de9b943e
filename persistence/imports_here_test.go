package persistence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/retention"
)

// Two systems receive the same events for days. A key with a window of an hour has been purged by the time of the import, or
// belongs to a later event: events received live are not imported again, whether they were processed, alone or in a batch, or are
// dead letters.
func TestAnImportFindsEventsWhoseKeysAreGone(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	const hour = event.Duration(time.Hour)
	live := func(key string, at time.Time) event.Receipt {
		r := receipt()
		r.Key, r.ReceivedAt, r.DedupeWindow = key, at, hour
		return r
	}
	processed, dead, batched := live("processed", noon), live("dead", noon), live("batched", noon)
	m.mustProcess(processed, parsed(patch("1", `{"n":1}`)))
	require.NoError(t, m.DeadLetters.RecordDeadLetter(t.Context(), deadLetter(dead)))
	_, err := m.Inbox.NewInboxWriter().Spool(t.Context(), event.LaneBulk, batched, patchBody("1", `{"n":3}`), false)
	require.NoError(t, err)
	_, err = m.Writer.ProcessBatch(t.Context(), 10, newBatchRun(), readImported)
	require.NoError(t, err)
	m.mustProcess(live("again", noon), parsed(patch("1", `{"n":1}`)))
	m.mustProcess(live("again", noon.Add(3*time.Hour)), parsed(patch("1", `{"n":1}`)))

	_, err = m.Upkeep.PurgeBatch(t.Context(), retention.Keys, noon.Add(2*time.Hour))
	require.NoError(t, err)
	require.Equal(t, []string{"again"}, value[[]string](m.database, `SELECT array_agg(key) FROM idempotency_keys`))
	var items []operation.ImportItem
	for _, key := range []string{"processed", "dead", "batched", "again"} {
		item := m.event(key, noon.Add(-time.Second), patchBody("1", `{"n":9}`))
		item.Receipt.DedupeWindow = hour
		items = append(items, item)
	}
	other := m.event("processed", noon.Add(-time.Hour), patchBody("1", `{"n":0}`))
	other.Receipt.DedupeWindow = hour
	before := m.everything()
	require.Equal(t, "4 of 4: 0 new, 4 there, 0 unreadable, 0 failed (completed)", summary(m.bring(items...)))
	require.Equal(t, before, m.everything())
	all, err := m.Imports.CompareImport(t.Context(), items)
	require.NoError(t, err)
	for i, of := range all {
		require.Equal(t, i == 1, len(of.Differences) > 0, "only the dead letter differs: %v", of.Differences)
	}
	require.Equal(t, "1 of 1: 1 new, 0 there, 0 unreadable, 0 failed (completed)", summary(m.bring(other)), "it came in another window")
}
