package persistence_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/retention"
)

// at makes an event that occurred and was received some minutes after noon.
func (d *database) at(minutes int, changes ...event.Change) stored {
	d.t.Helper()
	p := parsed(changes...)
	p.OccurredAt = noon.Add(time.Duration(minutes) * time.Minute)
	s := stored{receiptAt(p.OccurredAt), p}
	d.process(s.receipt, s.parsed)
	return s
}

// purgeUntil purges the events received before some minutes after noon.
func (d *database) purgeUntil(minutes int) {
	d.t.Helper()
	d.purge(retention.Events, noon.Add(time.Duration(minutes)*time.Minute))
}

func (d *database) requireIncomplete(id string, is bool) {
	d.t.Helper()
	e, err := d.Read.Entity(d.t.Context(), thing(id))
	require.NoError(d.t, err)
	require.Equal(d.t, is, e.Incomplete)
	found, err := d.Read.EntityList(d.t.Context(), event.EntityQuery{Provider: "acme", Kind: "thing", Prefix: id, Limit: 1})
	require.NoError(d.t, err)
	require.Equal(d.t, is, found.Entities[0].Incomplete)
	if e.Last.EventID != "" {
		now, err := d.Entities.EntityAsOf(d.t.Context(), thing(id), noon.Add(1000*time.Hour))
		require.NoError(d.t, err)
		require.Equal(d.t, is, now.Incomplete)
	}
}

// Changes purged before a snapshot can't be restored when that snapshot is expunged: the entity stays, and is incomplete until
// the next snapshot.
func TestAnEntityIsIncompleteOnceTheSnapshotThatAPurgeKeptIsExpunged(t *testing.T) {
	t.Parallel()
	for name, op := range map[string]event.Op{"snapshot": event.OpSnapshot, "delete": event.OpDelete} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			secret := snapshot("1", `{"iban":"hush"}`)
			secret.Op = op
			db.at(0, snapshot("1", `{"name":"Ada"}`))
			s := db.at(1, secret)
			db.at(2, patch("1", `{"city":"Paris"}`))
			db.purgeUntil(2)
			db.requireIncomplete("1", false)

			plan, err := db.Upkeep.PlanExpunge(t.Context(), nil, s.receipt.ID)
			require.NoError(t, err)
			require.Equal(t, []event.EntityRef{thing("1")}, plan.Incomplete)
			db.requireStates(map[string]string{"1": `{"city":"Paris","iban":"hush"}`})
			gone, err := db.Upkeep.Expunge(t.Context(), s.receipt.ID, 0, ada)
			require.NoError(t, err)
			require.Equal(t, []event.EntityRef{thing("1")}, gone.Incomplete)
			require.NotContains(t, string(db.audit()[0].Detail), "thing", "an entity's ID may be personal")
			require.Contains(t, string(db.audit()[0].Detail), `"incomplete": 1`)
			db.requireStates(map[string]string{"1": `{"city":"Paris"}`})
			db.requireIncomplete("1", true)

			db.at(3, patch("1", `{"zip":"75001"}`))
			db.requireIncomplete("1", true)
			again := db.at(4, snapshot("1", `{"name":"Ada"}`))
			db.requireIncomplete("1", false)
			_, err = db.Upkeep.Expunge(t.Context(), again.receipt.ID, 0, ada)
			require.NoError(t, err)
			db.requireStates(map[string]string{"1": `{"city":"Paris","zip":"75001"}`})
			db.requireIncomplete("1", true)
		})
	}
}

// An entity without links stays if a purge removed changes of it. Otherwise it is removed.
func TestAnExpungeLeavesAnEntityThatPurgedEventsTouched(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.CheckpointEvery(2)
	db.at(0, snapshot("1", `{"name":"Ada"}`))
	only := db.at(1, snapshot("2", `{}`))
	own := db.at(2, patch("3", `{"a":1}`), snapshot("3", `{"b":1}`))
	last := db.at(3, snapshot("1", `{}`))
	var mention stored
	for n := range 4 {
		mention = db.at(4+n, patch("4", `{}`))
	}
	db.purgeUntil(20)
	for _, s := range []stored{only, own, last, mention} {
		_, err := db.Upkeep.Expunge(t.Context(), s.receipt.ID, 0, ada)
		require.NoError(t, err)
	}
	db.requireStates(map[string]string{"1": `{}`, "4": `{}`})
	db.requireIncomplete("1", true)
	db.requireIncomplete("4", false)
}

// A base lists the events that it covers. The entity of an expunged one keeps its state, which may contain what the event did; no
// other event's entities are touched.
func TestABaseSaysWhichEventsItCovers(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.CheckpointEvery(2)
	var all []stored
	for n := range 6 {
		all = append(all, db.at(n, patch(fmt.Sprint(n%2), fmt.Sprintf(`{"n%d":1}`, n))))
	}
	db.purgeUntil(20)
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM entity_bases WHERE recorded = collapsed`))
	gone, err := db.Upkeep.Expunge(t.Context(), all[2].receipt.ID, 0, ada)
	require.NoError(t, err)
	require.Equal(t, []event.EntityRef{thing("0")}, gone.Collapsed)
	require.Equal(t, gone.Collapsed, gone.Incomplete)
	db.requireStates(map[string]string{"0": `{"n0":1,"n2":1,"n4":1}`, "1": `{"n1":1,"n3":1,"n5":1}`})
	db.requireIncomplete("0", true)
	db.requireIncomplete("1", false)

	for n := range 4 {
		db.at(30+n, patch("0", fmt.Sprintf(`{"n%d":2}`, n)))
	}
	db.purgeUntil(50)
	db.requireIncomplete("0", true)
	db.at(60, snapshot("0", `{}`))
	db.requireIncomplete("0", false)
	for n := range 4 {
		db.at(61+n, patch("0", fmt.Sprintf(`{"n%d":3}`, n)))
	}
	db.purgeUntil(100)
	db.requireIncomplete("0", false)
	require.Zero(t, value[int](db, `SELECT count(*) FROM entities WHERE lost_id IS NOT NULL`))
}

// An earlier release recorded nothing of what purges removed: then every event between the first and the last of a base may be in
// it, and a snapshot of a purged event may have had changes before it.
func TestAnExpungeAfterAPurgeByAnEarlierRelease(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.CheckpointEvery(2)
	var all []stored
	for n := range 6 {
		all = append(all, db.at(n, patch(fmt.Sprint(n%2), fmt.Sprintf(`{"n%d":1}`, n))))
	}
	alone := db.at(7, snapshot("2", `{"iban":"hush"}`))
	db.purgeUntil(20)
	young := db.at(30, patch("2", `{}`))
	db.exec(`DELETE FROM entity_base_events`)
	db.exec(`UPDATE entity_bases SET recorded = 0`)
	db.exec(`UPDATE entities SET purged_events = NULL, purged_sum = NULL, purged_mentions = NULL`)

	gone, err := db.Upkeep.Expunge(t.Context(), young.receipt.ID, 0, ada)
	require.NoError(t, err)
	require.Empty(t, gone.Incomplete)
	gone, err = db.Upkeep.Expunge(t.Context(), all[2].receipt.ID, 0, ada)
	require.NoError(t, err)
	require.Equal(t, []event.EntityRef{thing("0"), thing("1")}, gone.Incomplete)
	gone, err = db.Upkeep.Expunge(t.Context(), alone.receipt.ID, 0, ada)
	require.NoError(t, err)
	require.Equal(t, []event.EntityRef{thing("2")}, gone.Incomplete)
	db.requireStates(map[string]string{"0": `{"n0":1,"n2":1,"n4":1}`, "1": `{"n1":1,"n3":1,"n5":1}`, "2": `{}`})
}

// With its history from the archive an entity is folded without the event, if that history has exactly the events that purges
// have removed.
func TestAnEntityIsFoldedFromItsArchivedHistory(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.CheckpointEvery(2)
	history := func(all ...stored) retention.Archived {
		of := retention.Archived{}
		for _, s := range all {
			for _, c := range s.parsed.Changes {
				of[thing(c.ExternalID)] = append(of[thing(c.ExternalID)],
					event.OrderedChange{Order: event.OrderOf(s.receipt, s.parsed, c), Change: c})
			}
		}
		return of
	}
	one, two, three := db.at(0, snapshot("1", `{"a":1}`)), db.at(1, patch("1", `{"b":2}`)), db.at(2, snapshot("1", `{"c":3}`))
	four := db.at(20, patch("1", `{"d":4}`))
	var base []stored
	for n := range 5 {
		base = append(base, db.at(4+n, patch("2", fmt.Sprintf(`{"n%d":1}`, n))))
	}
	db.purgeUntil(8)
	for _, c := range []struct {
		name    string
		known   []stored
		expunge stored
		is      bool
	}{
		{"the archive lacks an event", []stored{one}, three, false},
		{"the archive has one that isn't of the history", []stored{one, two, three, four, base[0]}, base[1], false},
		{"a snapshot below which a purge removed changes", []stored{one, two, three}, three, true},
		{"an event that a base covers", base[:4], base[1], true},
	} {
		archived := history(c.known...)
		plan, err := db.Upkeep.PlanExpunge(t.Context(), archived, c.expunge.receipt.ID)
		require.NoError(t, err, c.name)
		require.Equal(t, c.is, len(plan.Recomputed) == 1 && len(plan.Incomplete) == 0, c.name)
		if !c.is {
			continue
		}
		gone, err := db.Upkeep.ExpungeWith(t.Context(), archived, c.expunge.receipt.ID, 0, ada)
		require.NoError(t, err, c.name)
		require.Equal(t, plan.Recomputed, gone.Recomputed, c.name)
	}
	db.requireStates(map[string]string{"1": `{"a":1,"b":2,"d":4}`, "2": `{"n0":1,"n2":1,"n3":1,"n4":1}`})
	db.requireIncomplete("1", false)
	db.requireIncomplete("2", false)

	// The next one, which is in the base.
	gone, err := db.Upkeep.ExpungeWith(t.Context(), history(one, two), two.receipt.ID, 0, ada)
	require.NoError(t, err)
	require.Equal(t, []event.EntityRef{thing("1")}, gone.Recomputed)
	gone, err = db.Upkeep.ExpungeWith(t.Context(), history(one), one.receipt.ID, 0, ada)
	require.NoError(t, err)
	require.Equal(t, []event.EntityRef{thing("1")}, gone.Recomputed)
	db.requireStates(map[string]string{"1": `{"d":4}`, "2": `{"n0":1,"n2":1,"n3":1,"n4":1}`})
}
