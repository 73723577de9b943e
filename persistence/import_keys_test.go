package persistence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/retention"
)

// An event is imported under a definition that was corrected after its file was read, so it has another key by now:
//   - it claims that key, and the former one, and a redelivery under either is a duplicate
//   - one whose former key is another event's with the same content is there already
//   - a second import changes nothing
func TestAnImportClaimsTheCorrectedKey(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	moved, corrected := misread("evt_1", patch("1", `{"n":1}`))
	corrected.Identity.Fingerprint, moved.Imported = "", &event.Imported{}
	live := receipt()
	live.Key = "customer_2"
	m.process(live, parsed())
	there := receipt()
	there.Key, there.Imported = live.Key, &event.Imported{}
	items := []operation.ImportItem{
		{Record: operation.ImportEvent, Receipt: moved, Body: body}, {Record: operation.ImportEvent, Receipt: there, Body: body},
	}
	read := func(r event.Receipt, _ []byte) (event.Parsed, error) {
		if r.ID == moved.ID {
			return corrected, nil
		}
		p := parsed()
		p.Identity = &event.Identity{Key: "evt_2", KeyFrom: event.KeyFromEvent}
		return p, nil
	}
	require.Equal(t, "2 of 2: 1 new, 1 there, 0 unreadable, 0 failed (completed)", summary(m.finishWith(m.stage(items...), read)))
	require.Equal(t, "2 of 2: 0 new, 2 there, 0 unreadable, 0 failed (completed)", summary(m.finishWith(m.stage(items...), read)))
	require.Equal(t, moved.ID, m.ownerOf("evt_1"))
	require.Equal(t, moved.ID, m.ownerOf(moved.Key))
	require.Equal(t, live.ID, m.ownerOf("customer_2"))
	require.EqualValues(t, 2, m.processedEvents())
	require.EqualValues(t, 1, value[int64](m.database, `SELECT count(*) FROM event_entities WHERE external_id = '1'`))
	for _, key := range []string{"evt_1", moved.Key} {
		persisted, err := m.Writer.Write(t.Context(), event.WholeEvent, sentAgain(key, "sha256:same"), body, parsed(), event.Run{WorkflowID: "w", RunID: key})
		require.NoError(t, err)
		require.Equal(t, moved.ID, persisted.Owner)
	}
}

// An event comes back from an archive under a corrected definition: it keeps its key, and claims the new one if it is free.
func TestARestoredEventClaimsItsCorrectedKeyIfItIsFree(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	for _, isFree := range []bool{true, false} {
		key, owner := "evt_free", ""
		if !isFree {
			other := receipt()
			key, other.Key, owner = "evt_taken", "evt_taken", other.ID
			m.process(other, parsed())
		}
		r, corrected := misread(key)
		if isFree {
			owner = r.ID
		}
		item := operation.ImportItem{Record: operation.ImportEvent, Receipt: r, Body: body, Stored: &retention.Stored{Event: &event.Record{
			Receipt: r, Status: event.StatusProcessed, PersistedAt: noon, ProcessedAt: &noon,
		}}}
		done := m.finishWith(m.stage(item), func(event.Receipt, []byte) (event.Parsed, error) { return corrected, nil })
		require.Equal(t, "1 of 1: 1 new, 0 there, 0 unreadable, 0 failed (completed)", summary(done))
		require.Equal(t, r.ID, m.ownerOf(r.Key))
		require.Equal(t, owner, m.ownerOf(key))
		require.Equal(t, r.Key, value[string](m.database, `SELECT key FROM events WHERE id = $1::uuid`, r.ID))
	}
}

// The key of an event with an open dead letter is imported: the dead letter keeps it, and its replay inserts a row.
func TestAnImportedKeyLeavesADeadLetterItsKey(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	r := receipt()
	m.record(died(r, time.Now()))
	require.Equal(t, "1 of 1: 0 new, 1 there, 0 unreadable, 0 failed (completed)", summary(m.bring(m.key(r.Key, noon.Add(-time.Hour)))))

	persisted, err := m.Writer.Write(t.Context(), event.WholeEvent, r, body, parsed(), anotherRun(r))
	require.NoError(t, err)
	persisted.Entities = nil
	require.Equal(t, event.Persisted{Processed: true}, persisted)
	require.Equal(t, event.StatusProcessed, m.status(r.ID))
	require.Equal(t, event.DeadLetterResolved, m.deadLetterOf(r).State)
}
