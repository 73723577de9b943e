package persistence

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// allProviders are the providers that have events, found by one look into an index for each. It lets the indexes that
// begin with the provider serve a list over all of them.
const allProviders = `
  WITH RECURSIVE found (name) AS (
       SELECT min(provider) FROM events
        UNION ALL
       SELECT (SELECT min(provider) FROM events WHERE provider > found.name) FROM found WHERE found.name IS NOT NULL)`

const touchesEntity = `id IN (
       SELECT event_id FROM event_entities WHERE provider = %[1]s AND kind = %[2]s AND external_id = %[3]s AND ` + isChange + `
        UNION ALL
       SELECT event_id FROM event_entities WHERE provider = %[1]s AND kind = %[2]s AND external_id = %[3]s AND ` + isMention + `)`

// Events is a page of stored events, newest first, without bodies and links.
func (s *Store) Events(ctx context.Context, q event.RecordQuery) ([]event.Record, error) {
	list := newList(recordColumns + ` FROM events`)
	list.equal("provider", q.Provider)
	list.ofSource(q.Source)
	list.equal("type", q.Type)
	list.equal("status", string(q.Status))
	list.ofKey(q.Provider, q.Key)
	if e := q.Entity; e != nil {
		entity, _, err := s.entityNamed(ctx, *e)
		if err != nil {
			return nil, failure("list events", err)
		}
		list.where(touchesEntity, entity.Provider, entity.Kind, entity.ExternalID)
	}
	list.acceptedBetween(q)
	if q.Before != "" {
		list.where("id < %s::uuid", clean(q.Before))
	}
	if q.Type != "" && q.Provider == "" {
		list.overProviders(q.Limit)
	}
	sql, args := list.page("id DESC", q.Limit)
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, failure("list events", err)
	}
	page, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (event.Record, error) { return scanRecord(row) })
	return page, failure("list events", err)
}

// eventsOfKey are those that ran in the workflow of their key, and those that a batch has processed, which is not named after
// them. Each of the two has an index.
const eventsOfKey = `SELECT id FROM events WHERE workflow_id = %[1]s::text || ':' || %[2]s::text
 UNION ALL
SELECT id FROM events WHERE provider = %[1]s AND key = %[2]s AND workflow_id LIKE 'batch/%%'`

// ofKey restricts to the events of a key, at one provider or at each.
func (l *list) ofKey(provider, key string) {
	if key == "" {
		return
	}
	key = event.CanonicalKey(provider, key)
	if provider != "" {
		l.where("id = ANY (ARRAY ("+eventsOfKey+"))", clean(provider), key)
		return
	}
	each := strings.NewReplacer("%[1]s", "found.name", "%[2]s", "%[1]s").Replace(eventsOfKey)
	l.where("id = ANY (ARRAY ("+allProviders+
		" SELECT of.id FROM found CROSS JOIN LATERAL ("+each+") AS of WHERE found.name IS NOT NULL))", key)
}

// acceptedBetween turns times into bounds of the ID, whose first bits are a time, so that no further index is needed.
func (l *list) acceptedBetween(q event.RecordQuery) {
	if !q.Since.IsZero() {
		l.where("id >= %s::uuid", event.FirstIDAt(q.Since))
	}
	if !q.Until.IsZero() {
		l.where("id < %s::uuid", event.FirstIDAt(q.Until))
	}
}

// overProviders replaces the conditions by one: to be among the page of each provider.
func (l *list) overProviders(limit int) {
	each := &list{selection: "SELECT id FROM events", conditions: l.conditions}
	each.where("provider = found.name")
	page, _ := each.page("id DESC", limit)
	l.conditions = []string{fmt.Sprintf("id = ANY (ARRAY (%s SELECT of.id FROM found CROSS JOIN LATERAL (%s) AS of))",
		allProviders, page)}
}
