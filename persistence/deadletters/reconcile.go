package deadletters

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/keys"
	"holdfast/persistence/postgres"
	"holdfast/persistence/records"
)

const (
	// selectUnfinished reads a page by its bytes, so that it has fewer rows if they are large.
	selectUnfinished = records.Columns + `, raw_body FROM events AS e
 WHERE id = ANY (ARRAY(SELECT id FROM (
       SELECT id, ` + postgres.FitsPage + ` AS fits FROM (
              SELECT id, octet_length(raw_body) AS size FROM events AS e
               WHERE status = 'persisted' AND id > $1::uuid AND id < $2::uuid
                 AND NOT EXISTS (SELECT FROM decisions WHERE event_id = e.id)
                 AND NOT EXISTS (SELECT FROM dead_letters
                                  WHERE event_id = e.id AND subscription_id = 0 AND state IN ('open', 'replaying', 'exhausted'))
               ORDER BY id LIMIT $3) AS sized
       WINDOW page AS (ORDER BY id)) AS next WHERE fits))
 ORDER BY id`

	selectKeys = `
SELECT e.id::text, CASE WHEN k.event_id IS NULL THEN e.receipt END
  FROM events AS e
  LEFT JOIN LATERAL (
       SELECT event_id FROM idempotency_keys WHERE provider = e.provider AND key = e.key OFFSET 0) AS k ON true
 WHERE e.id > $1::uuid AND e.id < $2::uuid AND e.status = 'processed'
 ORDER BY e.id LIMIT $3`
)

// Unfinished returns events that are stored, not processed, and have neither a dead letter nor a decision, in the order of their
// IDs, with their bodies. A page ends early, never empty, if its bodies are large.
func (s *Store) Unfinished(ctx context.Context, p operation.RowPage) ([]event.Record, error) {
	rows := s.db.Rows(ctx, selectUnfinished, p.After, p.Before, p.Limit)
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (event.Record, error) {
		var body []byte
		r, err := records.Scan(row, &body)
		r.Body = body
		return r, err
	})
	return found, postgres.Failure("list unfinished events", err)
}

// Keyless returns the events of a page of processed events whose key has no owner, although its dedupe window has not ended. Last
// is the last ID of the page; "" if it was empty.
func (s *Store) Keyless(ctx context.Context, p operation.RowPage) (found []event.Receipt, last string, err error) {
	var receipt []byte
	rows := s.db.Rows(ctx, selectKeys, p.After, p.Before, p.Limit)
	_, err = pgx.ForEachRow(rows, []any{&last, &receipt}, func() error {
		if receipt == nil {
			return nil
		}
		var r event.Receipt
		if err := json.Unmarshal(receipt, &r); err != nil {
			return fmt.Errorf("decode receipt of event %s: %w", last, err)
		}
		if w := time.Duration(r.DedupeWindow); w == 0 || r.ReceivedAt.Add(w).After(time.Now()) {
			found = append(found, r)
		}
		receipt = nil
		return nil
	})
	return found, last, postgres.Failure("compare keys", err)
}

// ClaimKey gives an event its key, unless the key has an owner by now.
func (s *Store) ClaimKey(ctx context.Context, r event.Receipt) error {
	b := &pgx.Batch{}
	b.Queue(postgres.EventLock, r.ID)
	keys.QueueClaims(b, r)
	return postgres.Failure("claim key of event "+postgres.Clean(r.ID), s.db.SendOnly(ctx, b))
}
