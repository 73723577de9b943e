package persistence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence"
)

func idsOf(found event.FoundEntities) (ids []string) {
	for _, e := range found.Entities {
		ids = append(ids, e.Provider+"/"+e.Kind+"/"+e.ExternalID)
	}
	return ids
}

func TestEntitiesAreListed(t *testing.T) {
	t.Parallel()
	db := open(t)
	for i, id := range []string{"cus_1", "cus_2", "cus-1", "other", "cus_%"} {
		p := parsed(snapshot(id, `{"n":1}`))
		r := receipt()
		if i == 3 {
			r.Provider, p.Changes[0].Kind = "bolt", "order"
		}
		db.process(r, p)
	}
	mentioned := parsed(patch("mentioned", `{}`))
	db.process(receipt(), mentioned)
	list := func(q event.EntityQuery) event.FoundEntities {
		found, err := db.Read.EntityList(t.Context(), q)
		require.NoError(t, err)
		return found
	}
	all := idsOf(list(event.EntityQuery{}))
	require.Len(t, all, 6)
	var paged []string
	for q := (event.EntityQuery{Limit: 2}); ; {
		found := list(q)
		paged = append(paged, idsOf(found)...)
		if len(found.Entities) < 2 || len(paged) > 6 {
			break
		}
		q.After = &found.Entities[1].EntityRef
	}
	require.Equal(t, all, paged)
	require.Equal(t, []string{"bolt/order/other"}, idsOf(list(event.EntityQuery{Provider: "bolt"})))
	require.Empty(t, idsOf(list(event.EntityQuery{Provider: "bolt", Kind: "thing"})))
	require.ElementsMatch(t, []string{"acme/thing/cus_1", "acme/thing/cus_2", "acme/thing/cus_%"},
		idsOf(list(event.EntityQuery{Provider: "acme", Kind: "thing", Prefix: "cus_"})), "a prefix is no pattern")
	require.Empty(t, list(event.EntityQuery{Provider: "acme", Kind: "thing", Prefix: "cus_"}).SearchedTo)
	found := list(event.EntityQuery{Provider: "acme", Kind: "thing", Prefix: "cus_1"})
	require.Equal(t, noon, found.Entities[0].Last.OccurredAt)
	require.Nil(t, found.Entities[0].State)

	hourAgo := time.Now().Add(-time.Hour).UTC()
	recent := list(event.EntityQuery{Since: hourAgo})
	require.Len(t, recent.Entities, 5, "a mention changes nothing")
	require.Equal(t, hourAgo, recent.ChangedSince)
	require.Empty(t, list(event.EntityQuery{Since: time.Now().Add(time.Hour)}).Entities)
	require.Equal(t, []string{"acme/thing/cus_2"}, idsOf(list(event.EntityQuery{
		Provider: "acme", Kind: "thing", Prefix: "cus_", Since: hourAgo, After: &event.EntityRef{Provider: "acme", Kind: "thing", ExternalID: "cus_1"},
	})))
}

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
