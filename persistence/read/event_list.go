package read

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence/entities"
	"holdfast/persistence/outbox"
	"holdfast/persistence/postgres"
	"holdfast/persistence/records"
)

// allProviders selects the providers that have events, with one index lookup for each. So the indexes that begin with the
// provider can serve a list of all of them.
const allProviders = `
  WITH RECURSIVE found (name) AS (
       SELECT min(provider) FROM events
        UNION ALL
       SELECT (SELECT min(provider) FROM events WHERE provider > found.name) FROM found WHERE found.name IS NOT NULL)`

const touchesEntity = `id IN (
       SELECT event_id FROM event_entities
        WHERE provider = %[1]s AND kind = %[2]s AND external_id = %[3]s AND ` + entities.IsChange + `
        UNION ALL
       SELECT event_id FROM event_entities
        WHERE provider = %[1]s AND kind = %[2]s AND external_id = %[3]s AND ` + entities.IsMention + `)`

// Events returns a page of stored events, newest first, without bodies and links.
func (s *Store) Events(ctx context.Context, q event.RecordQuery) ([]event.Record, error) {
	list, err := s.eventList(ctx, q)
	if err != nil {
		return nil, postgres.Failure("list events", err)
	}
	page, err := s.eventPage(ctx, list, q.Limit)
	return page, postgres.Failure("list events", err)
}

// eventList lists the events that a query selects, ignoring its text search.
func (s *Store) eventList(ctx context.Context, q event.RecordQuery) (*postgres.List, error) {
	list := postgres.NewList(records.Columns + ` FROM events`)
	list.Equal("provider", q.Provider)
	list.OfSource(q.Source)
	list.Equal("type", q.Type)
	list.Equal("status", string(q.Status))
	ofKey(list, q.Provider, q.Key)
	if e := q.Entity; e != nil {
		entity, _, err := entities.Named(ctx, s.db, *e)
		if err != nil {
			return nil, err
		}
		list.Where(touchesEntity, entity.Provider, entity.Kind, entity.ExternalID)
	}
	if q.PossibleDuplicates {
		list.Where("possible_duplicate_of IS NOT NULL")
	}
	withDelivery(list, delivery.Status(q.DeliveryStatus))
	acceptedBetween(list, q)
	if q.Before != "" {
		list.Where("id < %s::uuid", postgres.Clean(q.Before))
	}
	if q.Type != "" && q.Provider == "" {
		overProviders(list, q.Limit)
	}
	return list, nil
}

func (s *Store) eventPage(ctx context.Context, list *postgres.List, limit int) ([]event.Record, error) {
	sql, args := list.Page("id DESC", limit)
	rows := s.db.Rows(ctx, sql, args...)
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (event.Record, error) { return records.Scan(row) })
}

// eventsOfKey selects the events that ran in the workflow of their key, and those processed in a batch, whose workflow isn't
// named after the key. Each of the two has an index.
const eventsOfKey = `SELECT id FROM events WHERE workflow_id = %[1]s::text || ':' || %[2]s::text
 UNION ALL
SELECT id FROM events WHERE provider = %[1]s AND key = %[2]s AND workflow_id LIKE 'batch/%%'`

// ofKey restricts to the events of a key, of one provider or of all.
func ofKey(l *postgres.List, provider, key string) {
	if key == "" {
		return
	}
	key = event.CanonicalKey(provider, key)
	if provider != "" {
		l.Where("id = ANY (ARRAY ("+eventsOfKey+"))", postgres.Clean(provider), key)
		return
	}
	each := strings.NewReplacer("%[1]s", "found.name", "%[2]s", "%[1]s").Replace(eventsOfKey)
	l.Where("id = ANY (ARRAY ("+allProviders+
		" SELECT of.id FROM found CROSS JOIN LATERAL ("+each+") AS of WHERE found.name IS NOT NULL))", key)
}

// withDelivery restricts to events that have a delivery with a status, in the order of the indexes of deliveries by event.
func withDelivery(l *postgres.List, status delivery.Status) {
	if status == "" {
		return
	}
	sql, args := outbox.EventsWith(status)
	l.Where("id IN ("+sql+")", args...)
}

// acceptedBetween converts times to bounds of the ID, which begins with a time, so that no further index is needed.
func acceptedBetween(l *postgres.List, q event.RecordQuery) {
	if !q.Since.IsZero() {
		l.Where("id >= %s::uuid", event.FirstIDAt(q.Since))
	}
	if !q.Until.IsZero() {
		l.Where("id < %s::uuid", event.FirstIDAt(q.Until))
	}
}

// overProviders replaces the conditions by a single one: to be on the page of any provider.
func overProviders(l *postgres.List, limit int) {
	each := &postgres.List{Selection: "SELECT id FROM events", Conditions: l.Conditions}
	each.Where("provider = found.name")
	page, _ := each.Page("id DESC", limit)
	l.Conditions = []string{fmt.Sprintf("id = ANY (ARRAY (%s SELECT of.id FROM found CROSS JOIN LATERAL (%s) AS of))",
		allProviders, page)}
}
