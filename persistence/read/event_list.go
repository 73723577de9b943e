package read

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/entities"
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
	page, err := s.eventPage(ctx, list, q)
	return page, postgres.Failure("list events", err)
}

// eventList lists the events that a query selects, ignoring its text search. Its selection has no columns yet.
func (s *Store) eventList(ctx context.Context, q event.RecordQuery) (*postgres.List, error) {
	list := postgres.NewList(` FROM events`)
	switch {
	case walksDeliveries(q):
		list.Selection, list.Args = eventsDelivered(q)
	case q.DeliveryStatus != "":
		of := newestDeliveries(q)
		of.Where("q.event_id = events.id")
		list.Args = of.Args
		list.Where("EXISTS (SELECT FROM (" + of.Statement() + ") AS q WHERE has_status)")
	}
	ofSender(list, q)
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
	if q.WithOmitted {
		list.Where("omitted IS NOT NULL")
	}
	acceptedBetween(list, "id", q)
	if q.Type != "" && q.Provider == "" && !walksDeliveries(q) {
		overProviders(list, q.Limit)
	}
	return list, nil
}

func (s *Store) eventPage(ctx context.Context, list *postgres.List, q event.RecordQuery) (page []event.Record, err error) {
	list.Selection = records.Columns + list.Selection
	if !walksDeliveries(q) {
		sql, args := list.Page("id DESC", q.Limit)
		return pgx.CollectRows(s.db.Rows(ctx, sql, args...), scanRecord)
	}
	sql, args := list.Page("delivered.event_id DESC", q.Limit)
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(postgres.InOrder)
	b.Queue(sql, args...).Query(postgres.Collect(&page, scanRecord))
	return page, s.db.SendRead(ctx, b)
}

// EventCounts counts the events that a query selects, by status, whatever the query's own status is. Queries by what no index of
// events has aren't counted, nor are accepted events, which have no rows.
func (s *Store) EventCounts(ctx context.Context, q event.RecordQuery) (event.Counts, error) {
	counts := event.Counts{}
	if q.Key != "" || q.Text != "" || q.Entity != nil || q.DeliveryStatus != "" || q.PossibleDuplicates || q.WithOmitted {
		return counts, nil
	}
	q.Before = ""
	b := &pgx.Batch{}
	b.Queue(postgres.PlanEach)
	for _, status := range []event.Status{event.StatusPersisted, event.StatusDead} {
		list := postgres.NewList("")
		ofSender(list, q)
		list.StateIfMatching("status", "events")
		list.Where("status = %s AND status <> 'processed'", string(status))
		acceptedBetween(list, "id", q)
		sql, args := list.Newest("id DESC", event.MaxCounted+1)
		postgres.QueueCounts(b, counts, sql, args, event.MaxCounted, string(status))
	}
	if q.Type == "" || q.Provider != "" && q.Source == "" { // an index has the newest of these
		list := postgres.NewList("SELECT status AS state FROM events")
		ofSender(list, q)
		acceptedBetween(list, "id", q)
		sql, args := list.Newest("id DESC", maxProcessed+1)
		postgres.QueueCounts(b, counts, sql, args, maxProcessed, string(event.StatusProcessed))
	}
	return counts, postgres.Failure("count events", s.db.SendRead(ctx, b))
}

// maxProcessed is how many events are read to count those that are processed. Almost all are, so a higher number is of no
// use.
const maxProcessed = 1_200

// ofSender restricts to a provider, a source and a type.
func ofSender(l *postgres.List, q event.RecordQuery) {
	l.Equal("provider", q.Provider)
	l.OfSource(q.Source)
	l.Equal("type", q.Type)
}

func scanRecord(row pgx.CollectableRow) (event.Record, error) { return records.Scan(row) }

// eventsOfKey selects the events that ran in the workflow of their key; those processed in a batch, whose workflow isn't named
// after the key; and the one that owns the key, which a corrected definition may have given it. Each of the three has an index.
const eventsOfKey = `SELECT id FROM events WHERE workflow_id = %[1]s::text || ':' || %[2]s::text
 UNION ALL
SELECT id FROM events WHERE provider = %[1]s AND key = %[2]s AND workflow_id LIKE 'batch/%%'
 UNION ALL
SELECT event_id FROM idempotency_keys WHERE provider = %[1]s AND key = %[2]s`

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

// acceptedBetween converts times to bounds of the ID, which begins with a time, so that no further index is needed. It also
// restricts to what follows on the last page.
func acceptedBetween(l *postgres.List, id string, q event.RecordQuery) {
	if q.Before != "" {
		l.Where(id+" < %s::uuid", postgres.Clean(q.Before))
	}
	if !q.Since.IsZero() {
		l.Where(id+" >= %s::uuid", event.FirstIDAt(q.Since))
	}
	if !q.Until.IsZero() {
		l.Where(id+" < %s::uuid", event.FirstIDAt(q.Until))
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
