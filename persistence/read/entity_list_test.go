package read_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence/persistencetest"
)

func idsOf(found event.FoundEntities) (ids []string) {
	for _, e := range found.Entities {
		ids = append(ids, e.Provider+"/"+e.Kind+"/"+e.ExternalID)
	}
	return ids
}

func TestEntitiesAreListed(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	for i, id := range []string{"cus_1", "cus_2", "cus-1", "other", "cus_%"} {
		p := parsed(snapshot(id, `{"n":1}`))
		r := receipt()
		if i == 3 {
			r.Provider, p.Changes[0].Kind = "bolt", "order"
		}
		db.Process(r, p)
	}
	mentioned := parsed(patch("mentioned", `{}`))
	db.Process(receipt(), mentioned)
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
