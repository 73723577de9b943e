package persistence_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence"
)

// A list reads a bounded part of an index, returns where it has stopped, and continues there.
func TestListsOfEntitiesAreBounded(t *testing.T) {
	t.Parallel()
	seen := &statements{}
	db := openFilled(t, func(c *persistence.Config) { c.Tracer = seen })
	db.exec(`DELETE FROM entities`)
	db.exec(`
INSERT INTO entities (provider, kind, external_id, occurred_at)
SELECT 'acme', 'thing', CASE WHEN i = 30000 THEN 'e' ELSE 'd' END || lpad(i::text, 9, '0'), now() FROM generate_series(1, 30000) AS i`)
	db.exec(`
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
SELECT (lpad(to_hex(1800000000000 + i), 12, '0') || '70008000' || repeat('0', 12))::uuid, 'acme', 'thing', 'd' || lpad(i::text, 9, '0'), 1, 'snapshot', '{}', now()
  FROM generate_series(1, 20010) AS i`)
	db.exec(`ANALYZE`)
	require.NoError(t, db.Ping(t.Context()))
	q := event.EntityQuery{Provider: "acme", Kind: "thing", Prefix: "d0000000", Limit: 200}
	for name, q := range map[string]event.EntityQuery{
		"all": {Limit: 50}, "of a provider": {Provider: "acme", Limit: 50}, "of a prefix": q,
		"the next page": {Provider: "acme", Kind: "thing", Limit: 50, After: &event.EntityRef{Provider: "acme", Kind: "thing", ExternalID: "d000020000"}},
	} {
		seen.forget()
		_, err := db.Read.EntityList(t.Context(), q)
		require.NoError(t, err)
		plan := seen.plan(t, db)
		require.Contains(t, plan, "entities_pkey", name+"\n"+plan)
		require.NotRegexp(t, `Seq Scan|(?m)(^|->  )(Incremental )?Sort$`, plan, name)
	}
	found, err := db.Read.EntityList(t.Context(), q)
	require.NoError(t, err)
	require.Len(t, found.Entities, 99)
	require.Equal(t, "d000020000", found.SearchedTo.ExternalID, "it looks through so many")
	q.After = found.SearchedTo
	found, err = db.Read.EntityList(t.Context(), q)
	require.NoError(t, err)
	require.Empty(t, found.Entities)
	require.Nil(t, found.SearchedTo)

	seen.forget()
	found, err = db.Read.EntityList(t.Context(), event.EntityQuery{Since: time.UnixMilli(1800000000000), Limit: 50})
	require.NoError(t, err)
	require.Len(t, found.Entities, 50)
	require.Equal(t, time.UnixMilli(1800000000011).UTC(), found.ChangedSince, "it is complete from there on")
	plan := seen.planOf(t, db, "EXPLAIN ", func(sql string) bool { return len(sql) > 200 })
	require.Contains(t, plan, "event_entities_pkey", plan)
	require.Contains(t, plan, "entities_pkey on entities", plan)
	require.NotContains(t, plan, "Seq Scan", plan)
}

// A search reads a bounded number of events and bytes, and continues where it has stopped.
func TestASearchIsBounded(t *testing.T) {
	t.Parallel()
	seen := &statements{}
	db := open(t, func(c *persistence.Config) { c.Tracer = seen })
	first := db.shared().Stored([]byte(`needle`))
	db.exec(`
INSERT INTO events (id, provider, source, key, key_from, type, status, outcome, raw_body, headers, receipt,
       payload_note, occurred_at, occurred_at_missing, received_at, processed_at, workflow_id, run_id, request_id, correlation_id)
SELECT (lpad(to_hex(200000000000000 + i), 12, '0') || '70008000' || repeat('0', 12))::uuid, provider, source, key, key_from, 't' || i % 2, status, outcome, 'hay', headers, receipt,
       payload_note, occurred_at, occurred_at_missing, received_at, processed_at, workflow_id, run_id, request_id, correlation_id
  FROM events CROSS JOIN generate_series(1, 20010) AS i`)
	db.exec(`ANALYZE events`)
	require.NoError(t, db.Ping(t.Context()))
	q := event.RecordQuery{Text: "needle", Limit: 10}
	found, err := db.Read.SearchEvents(t.Context(), q)
	require.NoError(t, err)
	require.Empty(t, found.Records)
	for _, name := range []string{"WINDOW", "position("} {
		plan := seen.planOf(t, db, "EXPLAIN ", func(sql string) bool { return strings.Contains(sql, name) })
		require.Contains(t, plan, "events_pkey", plan)
		require.NotContains(t, plan, "Seq Scan", plan)
	}
	q.Before = found.SearchedTo
	found, err = db.Read.SearchEvents(t.Context(), q)
	require.NoError(t, err)
	require.Len(t, found.Records, 1)
	require.Equal(t, first.ID, found.Records[0].Receipt.ID)
	require.Empty(t, found.SearchedTo)

	db.exec(`UPDATE events SET raw_body = convert_to(repeat('hay', 350000), 'UTF8') WHERE key IN (SELECT key FROM events LIMIT 1) AND id IN (SELECT id FROM events ORDER BY id DESC LIMIT 50)`)
	found, err = db.Read.SearchEvents(t.Context(), event.RecordQuery{Text: "needle", Limit: 10})
	require.NoError(t, err)
	looked := value[int](db, `SELECT count(*) FROM events WHERE id >= $1::uuid`, found.SearchedTo)
	require.Equal(t, event.MaxSearchedBytes/1_050_000+1, looked)
}
