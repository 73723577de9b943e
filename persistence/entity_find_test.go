package persistence_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence"
)

// An entity is found by its ID or another of its names alone, of whatever provider and kind it is. That reads a row for each kind
// and one for each entity found, however many entities there are.
func TestAnEntityIsFoundByItsIDAlone(t *testing.T) {
	t.Parallel()
	seen := &statements{}
	db := openFilled(t, func(c *persistence.Config) { c.Tracer = seen })
	db.exec(`
INSERT INTO entities (provider, kind, external_id)
SELECT 'p' || i % 5, 'k' || i % 3, 'id' || i / 15 FROM generate_series(0, 29999) AS i`)
	db.exec(`INSERT INTO entities (provider, kind, external_id) VALUES ('acme', 'thing', 'e30')`)
	db.exec(`VACUUM ANALYZE entities`)
	for text, found := range map[string][]event.EntityRef{
		"id7": {
			{Provider: "p0", Kind: "k0", ExternalID: "id7"}, {Provider: "p0", Kind: "k1", ExternalID: "id7"},
			{Provider: "p0", Kind: "k2", ExternalID: "id7"},
		},
		"1":           {{Provider: "acme", Kind: "thing", ExternalID: "1"}},
		"n92":         {{Provider: "acme", Kind: "thing", ExternalID: "e30"}},
		"n93":         nil, // names an entity that isn't there
		"id2000":      nil,
		"nul \x00 id": nil,
	} {
		seen.forget()
		got, err := db.Read.EntitiesNamed(t.Context(), text, 3)
		require.NoError(t, err)
		require.Equal(t, found, append([]event.EntityRef(nil), got...), text)
		plan := seen.planOf(t, db, "EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) ",
			func(sql string) bool { return strings.Contains(sql, "kinds") })
		require.LessOrEqual(t, max(mostScanned(t, plan), mostDropped(t, plan)), 20, plan)
		require.NotContains(t, plan, "Seq Scan on ent", plan)
	}
}
