package entities

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// A link changes its entity or only mentions it, and each of the two has an index in fold order. A statement that needs both must
// name both conditions, since neither index serves all links.
const (
	IsChange  = `(op <> 'patch' OR change <> '{}')`
	IsMention = `(op = 'patch' AND change = '{}')`
	AllLinks  = `(
       SELECT * FROM event_entities WHERE ` + IsChange + `
        UNION ALL
       SELECT * FROM event_entities WHERE ` + IsMention + `) AS l`
)

// ColumnsOfRefs returns references as arrays, one for each column.
func ColumnsOfRefs(refs []event.EntityRef) (providers, kinds, ids []string) {
	for _, ref := range refs {
		providers, kinds, ids = append(providers, ref.Provider), append(kinds, ref.Kind), append(ids, ref.ExternalID)
	}
	return providers, kinds, ids
}

// RefColumns returns the columns of a reference, to scan a row into.
func RefColumns(r *event.EntityRef) []any { return []any{&r.Provider, &r.Kind, &r.ExternalID} }

// ScanRef scans a reference.
func ScanRef(row pgx.CollectableRow) (r event.EntityRef, err error) {
	err = row.Scan(RefColumns(&r)...)
	return r, err
}

// ScanOrdered scans a link as a change with its place in the order of its entity.
func ScanOrdered(row pgx.Row, more ...any) (c event.OrderedChange, err error) {
	columns := []any{
		&c.Change.Kind, &c.Change.ExternalID, &c.Change.Op, &c.Change.State, &c.Change.Version,
		&c.Order.OccurredAt, &c.Order.EventID,
	}
	err = row.Scan(append(columns, more...)...)
	c.Order.Version = c.Change.Version
	return c, err
}

// entityNamed selects the entity that a name stands for, and its other names.
const entityNamed = `
SELECT e.external_id, ARRAY (
       SELECT name FROM entity_names WHERE provider = $1 AND kind = $2 AND external_id = e.external_id ORDER BY name LIMIT $4)
  FROM (SELECT coalesce((SELECT external_id FROM entity_names WHERE provider = $1 AND kind = $2 AND name = $3), $3::text)
            AS external_id) AS e`

// Named resolves any name of an entity, and returns its other names, up to event.MaxPage. An unknown name stands for itself.
func Named(
	ctx context.Context, db *postgres.DB, ref event.EntityRef,
) (named event.EntityRef, others []string, err error) {
	named = event.EntityRef{
		Provider: postgres.Clean(ref.Provider), Kind: postgres.Clean(ref.Kind), ExternalID: postgres.Clean(ref.ExternalID),
	}
	err = db.QueryRow(ctx, entityNamed, named.Provider, named.Kind, named.ExternalID, event.MaxPage).
		Scan(&named.ExternalID, &others)
	if len(others) == 0 {
		others = nil
	}
	return named, others, err
}
