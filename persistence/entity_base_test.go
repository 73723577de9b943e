package persistence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/retention"
	"holdfast/persistence"
)

// patchDaily makes events that have patched an entity, one a day until the day before noon, latest first.
func (d *database) patchDaily(id string, days int) (all []stored) {
	d.t.Helper()
	for n := 1; n <= days; n++ {
		p := parsed(patch(id, fmt.Sprintf(`{"n%d":%d}`, n, n)))
		p.OccurredAt = noon.Add(-time.Duration(n) * 24 * time.Hour)
		s := stored{receiptAt(p.OccurredAt), p}
		d.process(s.receipt, s.parsed)
		all = append(all, s)
	}
	return all
}

// An entity without a snapshot, some of whose events are purged:
//   - its state is unchanged, on a base that replaces the removed changes
//   - an out-of-order change is folded in its place; before the base it is linked without an effect
//   - an event whose changes are collapsed may run again, and another may be expunged, which reports where it may still be
//   - a state is known from the base on; before it the answer says why not
func TestAPurgeCollapsesTheLifeOfAnEntity(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.CheckpointEvery(2)
	all := db.patchDaily("1", 5)
	require.EqualValues(t, 3, db.purge(retention.Events, noon.Add(-60*time.Hour)))
	db.requireStates(map[string]string{"1": `{"n1":1,"n2":2,"n3":3,"n4":4,"n5":5}`})
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM event_entities`))
	require.Equal(t, 3, value[int](db, `SELECT collapsed FROM entity_bases`))

	late := func(days float64, state string) stored {
		p := parsed(patch("1", state))
		p.OccurredAt = noon.Add(-time.Duration(days * 24 * float64(time.Hour)))
		s := stored{receiptAt(noon), p}
		db.process(s.receipt, s.parsed)
		return s
	}
	late(1.5, `{"n1":0,"n3":0}`)
	db.requireStates(map[string]string{"1": `{"n1":1,"n2":2,"n3":0,"n4":4,"n5":5}`})
	below := late(3.5, `{"n2":0,"n4":0,"new":1}`)
	tooLate := receiptAt(noon)
	persisted := db.mustProcess(tooLate, below.parsed)
	require.Equal(t, event.Persisted{Processed: true, WithoutEffect: 1}, persisted)
	again := all[3].parsed
	again.Changes = []event.Change{patch("1", `{"n4":"again"}`)}
	db.process(all[3].receipt, again)
	gone, err := db.Upkeep.Expunge(t.Context(), all[4].receipt.ID, 0, ada)
	require.NoError(t, err)
	require.Zero(t, gone.Changes)
	require.Equal(t, []event.EntityRef{thing("1")}, gone.Collapsed)
	require.NotContains(t, string(db.audit()[0].Detail), "collapsed", "an entity's ID may be personal")
	db.requireStates(map[string]string{"1": `{"n1":1,"n2":2,"n3":0,"n4":4,"n5":5}`})

	e, err := db.Read.Entity(t.Context(), thing("1"))
	require.NoError(t, err)
	require.Equal(t, noon.Add(-72*time.Hour), *e.CollapsedUntil)
	timeline, err := db.Read.Timeline(t.Context(), thing("1"))
	require.NoError(t, err)
	for _, l := range timeline {
		isBelow := l.EventID == below.receipt.ID || l.EventID == tooLate.ID || l.EventID == all[3].receipt.ID
		require.Equal(t, isBelow, l.WithoutEffect, string(l.State))
	}
	record, err := db.Read.Event(t.Context(), below.receipt.ID)
	require.NoError(t, err)
	require.True(t, record.Links[0].WithoutEffect)

	base := noon.Add(-72 * time.Hour)
	_, err = db.Entities.EntityAsOf(t.Context(), thing("1"), base.Add(-time.Microsecond))
	require.ErrorIs(t, err, event.ErrNotFound)
	require.ErrorContains(t, err, "its state is known from 2025-11-18T12:00:00Z on")
	was, err := db.Entities.EntityAsOf(t.Context(), thing("1"), base)
	require.NoError(t, err)
	require.JSONEq(t, `{"n3":3,"n4":4,"n5":5}`, string(was.State))

	_, err = db.Upkeep.Expunge(t.Context(), below.receipt.ID, 0, ada)
	require.NoError(t, err)
	db.purge(retention.Events, noon.Add(time.Hour))
	db.requireStates(map[string]string{"1": `{"n1":1,"n2":2,"n3":0,"n4":4,"n5":5}`})
	require.Zero(t, value[int](db, `SELECT count(*) FROM event_entities`))
}

// More changes than one transaction can collapse are collapsed in several, and all mentions but the last are removed with them.
func TestALongLifeIsCollapsedInPages(t *testing.T) {
	t.Parallel()
	const changes = 3_500
	seen := &statements{}
	db := open(t, func(c *persistence.Config) { c.Tracer = seen })
	first := db.patchDaily("1", 1)[0]
	db.exec(`
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
SELECT lpad(to_hex(i), 32, '0')::uuid, 'acme', 'thing', '1', n, 'patch', CASE n WHEN 1 THEN jsonb_build_object('n', i) ELSE '{}' END,
       $2::timestamptz - i * interval '1 ms'
  FROM generate_series(1, $1::integer) AS i, generate_series(1, 2) AS n`, changes, first.parsed.OccurredAt)
	db.exec(`UPDATE entities SET state = '{"n":1,"n1":1}', links = NULL`)
	seen.forget()
	require.EqualValues(t, 1, db.purge(retention.Events, noon))
	require.Equal(t, changes+1, value[int](db, `SELECT collapsed FROM entity_bases`))
	require.JSONEq(t, `{"n":1,"n1":1}`, value[string](db, `SELECT state::text FROM entity_bases`))
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM event_entities`), "the last mention")
	pages := 0
	for _, sent := range seen.sent {
		if strings.Contains(sent.sql, "INSERT INTO entity_bases") {
			pages++
		}
	}
	require.Equal(t, 4, pages)
}

// An open dead letter, or an event that is too young, limits what can be collapsed; so does a lock on the entity.
func TestUnpurgedChangesAreNotCollapsed(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.CheckpointEvery(2)
	all := db.patchDaily("1", 5)
	db.record(died(all[2].receipt, time.Now().Add(time.Second))) // the third one gets a dead letter
	worker := connect(t, db.url)
	for _, sql := range []string{`BEGIN`, `SELECT FROM entities FOR NO KEY UPDATE`} {
		_, err := worker.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, db.purge(retention.Events, noon.Add(-100*time.Hour)))
	require.Zero(t, value[int](db, `SELECT count(*) FROM entity_bases`))
	_, err := worker.Exec(t.Context(), `COMMIT`)
	require.NoError(t, err)

	require.EqualValues(t, 3, db.purge(retention.Events, noon))
	require.Equal(t, 2, value[int](db, `SELECT collapsed FROM entity_bases`))
	require.Equal(t, 3, value[int](db, `SELECT count(*) FROM event_entities`))
	db.requireStates(map[string]string{"1": `{"n1":1,"n2":2,"n3":3,"n4":4,"n5":5}`})
}

// An entity that events only mention stays for the sake of purged events, of whose mentions one is left.
func TestAPurgeLeavesOneMention(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.CheckpointEvery(2)
	var last event.Receipt
	for n := range 4 {
		p := parsed(patch("1", `{}`))
		p.OccurredAt = noon.Add(time.Duration(n) * time.Hour)
		last = receiptAt(p.OccurredAt)
		db.process(last, p)
	}
	require.EqualValues(t, 3, db.purge(retention.Events, noon.Add(150*time.Minute)))
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM event_entities`))
	_, err := db.Upkeep.Expunge(t.Context(), last.ID, 0, ada)
	require.NoError(t, err)
	db.requireStates(map[string]string{"1": `{}`})
}
