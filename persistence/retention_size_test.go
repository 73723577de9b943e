package persistence_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/retention"
	"holdfast/persistence"
)

// In a purge of many events that all mention the same entity, each batch reads only as much as its size requires.
func TestAPurgeReadsOnlyWhatItRemoves(t *testing.T) {
	t.Parallel()
	const events, entities = 200_000, 5_000
	seen := &statements{}
	db := open(t, func(c *persistence.Config) { c.Tracer = seen })
	db.purgeable(events, entities)

	for range 3 {
		n, err := db.Upkeep.PurgeBatch(t.Context(), retention.Events, time.Now())
		require.NoError(t, err)
		require.EqualValues(t, 500, n)
	}
	for _, of := range []string{"DELETE FROM events", "DELETE FROM event_entities"} {
		read := blocksRead(t, seen.planOf(t, db, "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF) ",
			func(sql string) bool { return strings.Contains(sql, of) }))
		require.Less(t, read, 50_000, of+": a batch has 500 events with two changes each, and there are 400,000 changes")
	}
}

// A batch doesn't walk past the rows that earlier batches have removed, which stay in the index until it is vacuumed. Rows older
// than the end of the last batch are purged all the same.
func TestAPurgeContinuesAfterACrash(t *testing.T) {
	t.Parallel()
	const events = 30_000
	seen := &statements{}
	db := open(t, func(c *persistence.Config) { c.Tracer = seen })
	db.exec(`ALTER TABLE events SET (autovacuum_enabled = off)`)
	db.purgeable(events, 1000)
	pages := func() int {
		seen.forget()
		n, err := db.Upkeep.PurgeBatch(t.Context(), retention.Events, time.Now())
		require.NoError(t, err)
		require.EqualValues(t, 500, n)
		return blocksRead(t, seen.planOf(t, db, "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF) ",
			func(sql string) bool { return strings.Contains(sql, "DELETE FROM events") }))
	}
	first := pages()
	for range 40 {
		_, err := db.Upkeep.PurgeBatch(t.Context(), retention.Events, time.Now())
		require.NoError(t, err)
	}
	require.Less(t, pages(), first+30)

	db.exec(`UPDATE events SET id = lpad(to_hex(7), 32, '0')::uuid WHERE id = (SELECT id FROM events ORDER BY id DESC LIMIT 1)`)
	db.purge(retention.Events, time.Now())
	require.Zero(t, value[int](db, `SELECT count(*) FROM events`))
}

// All links before a snapshot are removed with it, however many there are: in more than one transaction.
func TestAPurgeRemovesChangesBeforeASnapshot(t *testing.T) {
	t.Parallel()
	const events = 25_000
	db := open(t)
	db.purgeable(events, 1)
	last := receiptAt(noon)
	p := parsed(snapshot("branch", `{}`))
	db.process(last, p)
	require.EqualValues(t, events+1, db.purge(retention.Events, noon.Add(time.Hour)))
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM event_entities WHERE external_id = 'branch'`))
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM event_entities WHERE external_id = 'e0'`))
}

// A purge removes either all changes of an entity or none, no matter when another transaction releases its lock. If it removed only
// some changes of an event, the rest would count as one more event.
func TestAPurgeCountsAnEventOnce(t *testing.T) {
	t.Parallel()
	db := open(t)
	for n, delay := range []time.Duration{0, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond} {
		id := strconv.Itoa(n)
		db.exec(`
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
SELECT lpad(to_hex(i), 32, '0')::uuid, 'acme', 'thing', $1, n, 'patch', '{"a":1}', $2::timestamptz + i * interval '1 ms'
  FROM generate_series(1, 60) AS i, generate_series(1, 300) AS n`, id, noon.Add(-24*time.Hour))
		db.exec(`
INSERT INTO entities (provider, kind, external_id, state, deleted, purged_events)
VALUES ('acme', 'thing', $1, '{}', false, 0)`, id)
		db.process(receiptAt(noon), parsed(snapshot(id, `{}`)))
		other := connect(t, db.url)
		tx, err := other.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), `SELECT FROM entities WHERE external_id = $1 FOR UPDATE`, id)
		require.NoError(t, err)
		purged := make(chan int64, 1)
		go func() { purged <- db.purge(retention.Events, noon.Add(time.Hour)) }()
		<-time.After(delay)
		require.NoError(t, tx.Rollback(t.Context()))
		require.EqualValues(t, 1, <-purged)

		db.process(receiptAt(noon.Add(time.Minute)), parsed(snapshot(id, `{}`)))
		require.EqualValues(t, 1, db.purge(retention.Events, noon.Add(time.Hour)))
		require.Equal(t, 1, value[int](db, `SELECT count(*) FROM event_entities WHERE external_id = $1`, id))
		require.Equal(t, 61, value[int](db, `SELECT purged_events FROM entities WHERE external_id = $1`, id), delay)
	}
}

// purgeable makes events long before noon, each with a snapshot of one of some entities, and a mention of an entity that all
// mention.
func (d *database) purgeable(events, entities int) {
	d.t.Helper()
	d.exec(`
INSERT INTO events (id, provider, source, key, key_from, type, status, outcome, raw_body, headers, receipt,
       payload_note, occurred_at, occurred_at_missing, received_at, processed_at, workflow_id, run_id, request_id,
       correlation_id)
SELECT lpad(to_hex(i), 32, '0')::uuid, 'acme', '', i, 'event', 't', 'processed', 'processed', '', '{}', '{}',
       '', $2::timestamptz, false, $2, $2, 'acme:' || i, '', '', ''
  FROM generate_series(1, $1::integer) AS i`, events, noon.Add(-24*time.Hour))
	d.exec(`
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
SELECT lpad(to_hex(i), 32, '0')::uuid, 'acme', 'thing', CASE n WHEN 1 THEN 'e' || i % $2::integer ELSE 'branch' END,
       n, CASE n WHEN 1 THEN 'snapshot' ELSE 'patch' END, '{}', $3::timestamptz + i * interval '1 ms'
  FROM generate_series(1, $1::integer) AS i, generate_series(1, 2) AS n`, events, entities, noon.Add(-24*time.Hour))
	d.exec(`
INSERT INTO entities (provider, kind, external_id, state, deleted, purged_events)
SELECT DISTINCT provider, kind, external_id, '{}'::jsonb, false, 0 FROM event_entities WHERE external_id <> 'branch'`)
	d.exec(`ANALYZE`)
}

// blocksRead returns how many pages the statement of a plan has read.
func blocksRead(t *testing.T, plan string) (sum int) {
	t.Helper()
	top := regexp.MustCompile(`Buffers: shared[^\n]*`).FindString(plan) // a node includes those below it
	require.NotEmpty(t, top, plan)
	for _, n := range regexp.MustCompile(`(?:hit|read)=(\d+)`).FindAllStringSubmatch(top, -1) {
		blocks, err := strconv.Atoi(n[1])
		require.NoError(t, err)
		sum += blocks
	}
	return sum
}
