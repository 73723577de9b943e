package persistence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
)

// Processed events are read with a definition that finds other keys in them:
//   - a dry run counts them, lists those whose key another event has or would have, and claims nothing
//   - a rebuild claims the keys that are free, and lists the same events, which all stay processed
//   - a redelivery is then a duplicate
//   - a second rebuild finds the same
func TestARebuildClaimsFreeKeysAndListsSharedOnes(t *testing.T) {
	t.Parallel()
	d := open(t)
	definition := definition{}
	processed := func(key string) event.Receipt {
		r, p := misread(key, snapshot(key, `{}`))
		d.process(r, parsed(snapshot(key, `{}`)))
		definition[r.ID] = func() (event.Parsed, error) { return p, nil }
		return r
	}
	other := receipt()
	other.Key = "evt_2"
	d.process(other, parsed())
	definition.reads(other)
	first, second, third := processed("evt_1"), processed("evt_1"), processed("evt_2")
	want := []operation.SharedKey{
		{EventID: second.ID, Provider: "acme", Key: "evt_1", Owner: first.ID},
		{EventID: third.ID, Provider: "acme", Key: "evt_2", Owner: other.ID},
	}
	for _, id := range []string{"dry", "real", "repeated"} {
		r := d.rebuild(id, operation.RebuildFilter{}, id == "dry", 1, definition.parse)
		require.EqualValues(t, 3, r.CorrectedKeys, id)
		require.EqualValues(t, 2, r.SharedKeys, id)
		require.Equal(t, want, r.KeyConflicts, id)
		require.EqualValues(t, 4, d.processedEvents())
		claimed := value[int64](d, `SELECT count(*) FROM idempotency_keys WHERE key = 'evt_1'`)
		require.Equal(t, id != "dry", claimed == 1)
	}
	require.Equal(t, other.ID, d.ownerOf("evt_2"))
	again := sentAgain("evt_1", "sha256:same")
	persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, again, body, parsed(), runOf(again))
	require.NoError(t, err)
	require.Equal(t, first.ID, persisted.Owner)
	require.Zero(t, value[int64](d, `SELECT count(*) FROM rebuild_keys`), "a later rebuild removes what an earlier one planned")
}
