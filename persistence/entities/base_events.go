package entities

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// knownChanges is the max number of a base's changes whose event IDs are stored: 1.6 MB per entity. For older changes, only the
// base's first and last event ID are known.
const knownChanges = 100_000

const (
	insertBaseEvents = `
INSERT INTO entity_base_events (provider, kind, external_id, collapsed, changes, first_id, last_id, events)
SELECT provider, kind, external_id, collapsed - $4, $5, $6::uuid, $7::uuid, $8::uuid[]
  FROM entity_bases WHERE provider = $1 AND kind = $2 AND external_id = $3`

	forgetBaseEvents = `
WITH old AS (
     DELETE FROM entity_base_events
      WHERE provider = $1 AND kind = $2 AND external_id = $3
        AND collapsed <= (SELECT collapsed FROM entity_bases WHERE provider = $1 AND kind = $2 AND external_id = $3) - $4::bigint
  RETURNING changes)
UPDATE entity_bases SET recorded = recorded - (SELECT sum(changes) FROM old)
 WHERE provider = $1 AND kind = $2 AND external_id = $3 AND EXISTS (SELECT FROM old)`

	// coveringBases selects the entities whose base covers an event, or may: if the events of a base aren't all listed, it may cover
	// any ID between its first and its last. An event that has a row can be covered only if it was purged and received again, and
	// then it is linked to the entities that it changed.
	coveringBases = `
SELECT provider, kind, external_id FROM entity_base_events
 WHERE $2::uuid BETWEEN first_id AND last_id AND $2::uuid = ANY (events)
 UNION
SELECT provider, kind, external_id FROM entity_bases AS b
 WHERE provider = $1 AND recorded < collapsed AND $2::uuid BETWEEN first_id AND last_id
   AND NOT EXISTS (SELECT FROM entity_base_events AS e
                    WHERE e.provider = b.provider AND e.kind = b.kind AND e.external_id = b.external_id
                      AND $2::uuid = ANY (e.events))
   AND (NOT EXISTS (SELECT FROM events WHERE id = $2::uuid)
        OR EXISTS (SELECT FROM event_entities AS l
                    WHERE l.event_id = $2::uuid AND (l.provider, l.kind, l.external_id) = (b.provider, b.kind, b.external_id)))
 ORDER BY 1, 2, 3`
)

// queueBaseEvents lists the events of the changes that were last added to a base.
func queueBaseEvents(b *pgx.Batch, ref event.EntityRef, all []event.OrderedChange) {
	left := len(all)
	for part := range slices.Chunk(all, linksPerPage) {
		var ids []string
		for _, c := range part {
			if !slices.Contains(ids, c.Order.EventID) {
				ids = append(ids, c.Order.EventID)
			}
		}
		left -= len(part)
		b.Queue(insertBaseEvents, ref.Provider, ref.Kind, ref.ExternalID, left, len(part), slices.Min(ids), slices.Max(ids), ids)
	}
}

// QueueCovering finds the entities of a provider whose base covers, or may cover, an event.
func QueueCovering(b *pgx.Batch, provider, eventID string, into *[]event.EntityRef) {
	b.Queue(coveringBases, provider, eventID).Query(postgres.Collect(into, ScanRef))
}
