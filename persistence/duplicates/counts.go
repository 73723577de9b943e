package duplicates

import (
	"context"
	"time"

	"github.com/google/uuid"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

const (
	// addDuplicates adds counts in the order of IDs, so that two processes can't deadlock. For events that were unknown when
	// counted, it looks up the owner of the key, and events still in the inbox. Counts without an owner are dropped.
	addDuplicates = `
INSERT INTO event_duplicates AS d (event_id, times, first_seen, last_seen, rewritten)
SELECT owner, sum(times), min(first_seen), max(last_seen), sum(rewritten) FROM (
       SELECT coalesce(nullif(c.owner, '')::uuid,
                       (SELECT k.event_id FROM idempotency_keys AS k WHERE k.provider = c.provider AND k.key = c.key),
                       (SELECT i.event_id FROM inbox AS i WHERE i.workflow_id = c.workflow_id
                         ORDER BY i.received_at LIMIT 1)) AS owner,
              c.times, c.first_seen, c.last_seen, c.rewritten
         FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::timestamptz[], $7::timestamptz[],
                     $8::bigint[])
              AS c (provider, key, workflow_id, owner, times, first_seen, last_seen, rewritten)) AS counted
 WHERE owner IS NOT NULL GROUP BY owner ORDER BY owner
    ON CONFLICT (event_id) DO UPDATE
   SET times = d.times + excluded.times, first_seen = least(d.first_seen, excluded.first_seen),
       last_seen = greatest(d.last_seen, excluded.last_seen), rewritten = d.rewritten + excluded.rewritten`

	// PurgeDuplicates removes up to $2 counts older than $1 whose events are gone.
	PurgeDuplicates = `
DELETE FROM event_duplicates WHERE event_id = ANY (ARRAY(
       SELECT d.event_id FROM event_duplicates AS d
        WHERE d.event_id < $1::uuid AND NOT EXISTS (SELECT FROM events AS e WHERE e.id = d.event_id)
        ORDER BY d.event_id LIMIT $2 FOR UPDATE SKIP LOCKED))`
)

// counted is how many duplicates of an event arrived since the last write.
type counted struct {
	times       int64
	first, last time.Time
	rewritten   int64 // of times
}

func (c counted) and(other counted) counted {
	if c.times == 0 {
		return other
	}
	c.times, c.rewritten = c.times+other.times, c.rewritten+other.rewritten
	if other.first.Before(c.first) {
		c.first = other.first
	}
	if other.last.After(c.last) {
		c.last = other.last
	}
	return c
}

// duplicateKey identifies a counter of duplicates.
type duplicateKey struct{ provider, key, owner string }

// addDuplicates adds counts to the stored ones. Events whose key has no owner yet are left out.
func (s *Store) addDuplicates(ctx context.Context, counts map[duplicateKey]counted) error {
	n := len(counts)
	providers, keys, workflows, owners := make([]string, 0, n), make([]string, 0, n), make([]string, 0, n), make([]string, 0, n)
	times, firsts, lasts := make([]int64, 0, n), make([]time.Time, 0, n), make([]time.Time, 0, n)
	rewritten := make([]int64, 0, n)
	for of, c := range counts {
		providers, keys = append(providers, postgres.Clean(of.provider)), append(keys, postgres.Clean(of.key))
		workflows = append(workflows, postgres.Clean(event.WorkflowID(of.provider, of.key)))
		owners = append(owners, of.owner)
		times, firsts, lasts = append(times, c.times), append(firsts, c.first), append(lasts, c.last)
		rewritten = append(rewritten, c.rewritten)
	}
	_, err := s.db.Exec(ctx, addDuplicates, providers, keys, workflows, owners, times, firsts, lasts, rewritten)
	return postgres.Failure("add duplicates", err)
}

// ownerOf returns the ID if it is a valid UUID, and "" otherwise.
func ownerOf(id string) string {
	if uuid.Validate(id) != nil {
		return ""
	}
	return id
}
