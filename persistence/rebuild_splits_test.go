package persistence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
)

// The current definition makes several events of one that is processed: a dry run and a rebuild count and list it, and it stays as it is,
// with what it did to entities. Its parts, which the sender sends again, are events of their own.
func TestARebuildListsWhatTheDefinitionSplits(t *testing.T) {
	t.Parallel()
	d := open(t)
	definition := definition{}
	whole, plain := receipt(), receipt()
	for _, r := range []event.Receipt{whole, plain} {
		d.process(r, parsed(patch(r.Key, `{"n":1}`)))
	}
	definition.reads(plain, patch(plain.Key, `{"n":2}`))
	definition[whole.ID] = func() (event.Parsed, error) {
		p := parsed()
		p.Splits = 3
		return p, nil
	}
	for n, id := range []string{"dry", "real", "repeated"} {
		r := d.rebuild(id, operation.RebuildFilter{}, id == "dry", 1, definition.parse)
		require.EqualValues(t, 2, r.Read)
		require.EqualValues(t, 1, r.Splits)
		require.EqualValues(t, min(1, 2-n), r.Changed, id)
		require.Zero(t, r.Unreadable)
		require.Len(t, r.Problems, 1)
		require.Equal(t, whole.ID, r.Problems[0].EventID)
		require.Equal(t, operation.CodeSplits, r.Problems[0].Code)
		require.Contains(t, r.Problems[0].Message, "finds 3 events in it")
		require.Equal(t, 1, value[int](d, `SELECT count(*) FROM event_entities WHERE external_id = $1`, whole.Key))
		require.Equal(t, 1, value[int](d, `SELECT (state->>'n')::int FROM entities WHERE external_id = $1`, whole.Key))
		require.Equal(t, whole.ID, d.ownerOf(whole.Key))
	}
	require.EqualValues(t, 2, d.processedEvents())
	require.Zero(t, value[int](d, `SELECT count(*) FROM inbox`))
	require.Zero(t, value[int](d, `SELECT count(*) FROM decisions`))
}
