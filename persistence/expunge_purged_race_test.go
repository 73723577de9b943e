package persistence_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/event/retention"
)

// Concurrent purges and expunges: in whatever order, an entity that isn't incomplete is the fold of its other events, and an
// incomplete one isn't removed.
func TestPurgesAndExpungesAtOnce(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.CheckpointEvery(2)
	const things = 8
	var resets []stored
	for n := range things {
		id := fmt.Sprint(n)
		db.at(n, snapshot(id, `{"a":1}`))
		resets = append(resets, db.at(100+n, snapshot(id, `{"b":2}`), patch(id, `{"c":3}`)))
		db.at(200+n, patch(id, `{"d":4}`))
	}
	var work errgroup.Group
	for range 3 {
		work.Go(func() error {
			for {
				removed, err := db.Upkeep.PurgeBatch(t.Context(), retention.Events, noon.AddDate(0, 0, 10))
				if err != nil || removed == 0 {
					return err
				}
			}
		})
	}
	for n := range things {
		work.Go(func() error { return second(db.Upkeep.Expunge(t.Context(), resets[n].receipt.ID, 0, ada)) })
	}
	require.NoError(t, work.Wait())
	db.purge(retention.Events, noon.AddDate(0, 0, 10))
	for n := range things {
		e, err := db.Read.Entity(t.Context(), thing(fmt.Sprint(n)))
		require.NoError(t, err)
		if !e.Incomplete {
			require.JSONEq(t, `{"a":1,"d":4}`, string(e.State))
		}
	}
}

// What an entity has lost is lost for the one that it is merged into.
func TestMergedEntitiesStayIncomplete(t *testing.T) {
	t.Parallel()
	db := open(t)
	named := func(op event.Op, state string, names ...event.Name) event.Change {
		return event.Change{Kind: "thing", ExternalID: names[0].Name, Op: op, State: []byte(state), Names: names}
	}
	lesser, best := event.Name{Rank: 1, Name: "ada@example.com"}, event.Name{Rank: 0, Name: "1"}
	db.at(0, named(event.OpSnapshot, `{"a":1}`, lesser))
	last := db.at(1, named(event.OpSnapshot, `{"b":2}`, lesser))
	db.purgeUntil(10)
	db.at(20, named(event.OpPatch, `{"c":3}`, best, lesser))
	db.requireStates(map[string]string{"1": `{"b":2,"c":3}`})
	db.requireIncomplete("1", false)
	gone, err := db.Upkeep.Expunge(t.Context(), last.receipt.ID, 0, ada)
	require.NoError(t, err)
	require.Equal(t, []event.EntityRef{thing("1")}, gone.Incomplete)
	db.requireStates(map[string]string{"1": `{"c":3}`})
	db.requireIncomplete("1", true)
}
