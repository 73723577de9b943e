package persistence_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence"
)

func (d *database) stored(raw []byte, change ...func(*event.Receipt)) event.Receipt {
	d.t.Helper()
	r := receipt()
	for _, c := range change {
		c(&r)
	}
	_, err := d.Writer.Write(d.t.Context(), event.RowOnly, r, raw, parsed(), runOf(r))
	require.NoError(d.t, err)
	return r
}

// A text is found in bodies of any kind: unchanged, or escaped as JSON.
func TestEventsAreFoundByAText(t *testing.T) {
	t.Parallel()
	db := open(t)
	bodies := []string{
		`{"name":"Zoë"}`, `{"name":"Zo\u00eb"}`, "\xff\x00binary Zo\xeb \xfe", `name=Zo%C3%AB&note=100%25`, `{"emoji":"\ud83d\ude00"}`,
		`{"say":"a \"quoted\" word"}`,
	}
	var all []event.Receipt
	for _, b := range bodies {
		all = append(all, db.stored([]byte(b)))
	}
	db.stored([]byte(`{"name":"Zoë"}`), func(r *event.Receipt) { r.Provider = "bolt" })
	for text, want := range map[string][]int{
		"Zoë": {1, 0}, "binary": {2}, "100%25": {3}, "%": {3}, "😀": {4}, `a "quoted" word`: {5}, "zoë": nil, "nowhere": nil,
	} {
		found, err := db.Read.SearchEvents(t.Context(), event.RecordQuery{Provider: "acme", Text: text, Limit: 10})
		require.NoError(t, err)
		var ids, wanted []string
		for _, r := range found.Records {
			ids = append(ids, r.Receipt.ID)
		}
		for _, i := range want {
			wanted = append(wanted, all[i].ID)
		}
		require.Equal(t, wanted, ids, text)
		require.Empty(t, found.SearchedTo, "all were looked at")
	}
	found, err := db.Read.SearchEvents(t.Context(), event.RecordQuery{Text: "Zoë", Limit: 1})
	require.NoError(t, err)
	require.Equal(t, "bolt", found.Records[0].Receipt.Provider)
	require.Equal(t, found.Records[0].Receipt.ID, found.SearchedTo)
	found, err = db.Read.SearchEvents(t.Context(), event.RecordQuery{Text: "Zoë", Before: found.SearchedTo, Limit: 5})
	require.NoError(t, err)
	require.Len(t, found.Records, 2)
}

// A search reads a bounded number of events and bytes, and continues where it has stopped.
func TestASearchIsBounded(t *testing.T) {
	t.Parallel()
	seen := &statements{}
	db := open(t, func(c *persistence.Config) { c.Tracer = seen })
	first := db.stored([]byte(`needle`))
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
