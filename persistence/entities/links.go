package entities

import (
	"github.com/jackc/pgx/v5"

	"holdfast/event"
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
	return r, row.Scan(RefColumns(&r)...)
}

// ScanOrdered scans a link as a change with its place in the order of its entity.
func ScanOrdered(row pgx.Row, more ...any) (c event.OrderedChange, err error) {
	columns := []any{
		&c.Change.Kind, &c.Change.ExternalID, &c.Change.Op, &c.Change.State, &c.Change.Version,
		&c.Order.OccurredAt, &c.Order.EventID,
	}
	err = row.Scan(append(columns, more...)...)
	c.Order.Version, c.Order.OccurredAt = c.Change.Version, c.Order.OccurredAt.UTC()
	return c, err
}
