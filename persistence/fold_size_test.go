package persistence_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence"
)

// The cost of a slightly out-of-order patch depends on how far out of order it is, not on the number of changes: for an entity
// with 100,000 changes it reads as many pages as for one with ten, and up to two checkpoints more.
func TestALateChangeReadsAsMuchAsItIsLate(t *testing.T) {
	t.Parallel()
	young, old := newTenant(t, 10), newTenant(t, 100_000)
	for _, lateness := range []int{1, 2, 9} {
		require.Less(t, old.readsFor(lateness), young.readsFor(lateness)+300, "late by %d", lateness)
	}
	require.Less(t, old.readsFor(32), 300)
	require.Less(t, old.readsFor(10_000), 3*20_000, "there are 100,000 changes")
	require.Less(t, old.readsFor(32), 300, "what was folded anew has checkpoints again")
	old.seen.forget()
	then, err := old.Entities.EntityAsOf(t.Context(), thing("tenant"), noon)
	require.NoError(t, err)
	require.JSONEq(t, `{"n":1,"late":true}`, string(then.State))
	require.Less(t, old.pages(), 300, "a state at a moment begins at a checkpoint, too")
	for _, tenant := range []*tenant{young, old} {
		tenant.requireStates(map[string]string{"tenant": `{"n":1,"late":true}`})
	}
}

// tenant is an entity that has been patched once a millisecond until noon.
type tenant struct {
	*database
	seen  *statements
	links int
}

// newTenant fills the table as an earlier release left it; the first out-of-order change determines the counts.
func newTenant(t testing.TB, links int) *tenant {
	d := &tenant{seen: &statements{}, links: links}
	d.database = open(t, func(c *persistence.Config) { c.Tracer, c.StatementTimeout = d.seen, time.Minute })
	d.exec(`
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
SELECT lpad(to_hex(i), 32, '0')::uuid, 'acme', 'thing', 'tenant', 1, 'patch', '{"n":1}', $2::timestamptz - i * interval '1 ms'
  FROM generate_series(1, $1::integer) AS i`, links, noon)
	d.exec(`
INSERT INTO entities (provider, kind, external_id, state, occurred_at, last_event_id)
SELECT provider, kind, external_id, change, occurred_at, event_id FROM event_entities ORDER BY occurred_at DESC LIMIT 1`)
	d.exec(`ANALYZE`)
	d.late(1)
	require.Equal(t, links+1, value[int](d.database, `SELECT links FROM entities`))
	return d
}

// readsFor returns how many pages the writer reads for a patch with this many later ones.
func (d *tenant) readsFor(lateness int) int {
	d.t.Helper()
	d.seen.forget()
	d.late(lateness)
	return d.pages()
}

func (d *tenant) late(lateness int) {
	d.t.Helper()
	p := parsed(patch("tenant", `{"late":true}`))
	p.OccurredAt = noon.Add(-time.Duration(lateness)*time.Millisecond - time.Microsecond)
	d.process(receiptAt(noon), p)
}

// pages returns how many pages of changes and checkpoints were read since the last seen.forget.
func (d *tenant) pages() (pages int) {
	t := d.t.(*testing.T)
	reads := func(sql string) bool {
		return strings.HasPrefix(strings.TrimSpace(sql), "SELECT") && strings.Contains(sql, "event_entities") ||
			strings.Contains(sql, "FROM entity_checkpoints") && !strings.Contains(sql, "DELETE")
	}
	for _, sent := range d.seen.sent {
		if reads(sent.sql) {
			only := &statements{sent: []statement{sent}}
			pages += blocksRead(t, only.planOf(t, d.database, "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF) ", reads))
		}
	}
	return pages
}

// A mention doesn't wait for a transaction that changes the entity, doesn't write the entity, and makes no earlier change out of
// order.
func TestAMentionTouchesNothing(t *testing.T) {
	t.Parallel()
	seen := &statements{}
	db := open(t, func(c *persistence.Config) { c.Tracer = seen })
	first := receipt()
	db.process(first, parsed(patch("tenant", `{"n":1}`)))
	before := value[string](db, `SELECT ctid::text || e::text FROM entities AS e`)

	release := db.hold(`SELECT FROM entities FOR NO KEY UPDATE`)
	mention := parsed(patch("tenant", `{}`))
	mention.OccurredAt = noon.Add(time.Hour)
	require.True(t, db.mustProcess(receipt(), mention).Processed)
	release()
	require.Equal(t, before, value[string](db, `SELECT ctid::text || e::text FROM entities AS e`))

	seen.forget()
	next := parsed(patch("tenant", `{"n":2}`))
	next.OccurredAt = noon.Add(time.Minute)
	db.mustProcess(receipt(), next)
	for _, sent := range seen.sent {
		require.NotContains(t, sent.sql, "LIMIT $9", "it is later than all that has changed the entity")
	}
	db.requireStates(map[string]string{"tenant": `{"n":2}`})
}

// An entity that was only mentioned has a state and no latest event, in any order of events; it is removed with its last event.
func TestAnEntityThatIsOnlyMentioned(t *testing.T) {
	t.Parallel()
	db := open(t)
	one, two := receipt(), receipt()
	db.process(one, parsed(patch("1", `{}`)))
	db.process(two, parsed(patch("1", ``)))
	for range 2 {
		e, err := db.Read.Entity(t.Context(), thing("1"))
		require.NoError(t, err)
		e.Revision = 0
		require.Equal(t, event.Entity{EntityRef: thing("1"), State: []byte(`{}`)}, e)
		then, err := db.Entities.EntityAsOf(t.Context(), thing("1"), noon)
		require.NoError(t, err)
		require.Equal(t, e, then)
		require.NoError(t, db.UpsertEntities(t.Context(), one, parsed(), anotherRun(one)))
	}
	_, err := db.Upkeep.Expunge(t.Context(), two.ID, 0, ada)
	require.NoError(t, err)
	_, err = db.Read.Entity(t.Context(), thing("1"))
	require.ErrorIs(t, err, event.ErrNotFound)
}

// An entity isn't removed while an event is about to mention it.
func TestAnEntityStaysForAConcurrentMention(t *testing.T) {
	t.Parallel()
	db := open(t, func(c *persistence.Config) { c.LockTimeout = time.Minute })
	r := receipt()
	db.process(r, parsed(patch("1", `{"secret":1}`)))
	mention := connect(t, db.url)
	_, err := mention.Exec(t.Context(), `BEGIN`)
	require.NoError(t, err)
	_, err = mention.Exec(t.Context(), `SELECT FROM entities FOR KEY SHARE`) // as lockEntities does
	require.NoError(t, err)
	_, err = mention.Exec(t.Context(), `INSERT INTO event_entities VALUES ($1, 'acme', 'thing', '1', 1, 'patch', '{}', NULL, now())`, receipt().ID)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := db.Upkeep.Expunge(t.Context(), r.ID, 0, ada)
		done <- err
	}()
	db.onBlock(mention)
	_, err = mention.Exec(t.Context(), `COMMIT`)
	require.NoError(t, err)
	require.NoError(t, <-done)
	db.requireStates(map[string]string{"1": `{}`})
}
