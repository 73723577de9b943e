package subscriptions

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/persistence/postgres"
)

// selectMessages adds up sizes before it reads a body.
const selectMessages = `
WITH sized AS MATERIALIZED (
     SELECT i.id, i.n, sum(coalesce(octet_length(e.raw_body), 0)) OVER (ORDER BY i.n) AS bytes
       FROM unnest($1::uuid[]) WITH ORDINALITY AS i (id, n) LEFT JOIN events AS e ON e.id = i.id
)
SELECT s.id::text, e.id IS NOT NULL, e.receipt, e.headers, coalesce(e.type, ''), e.occurred_at, e.raw_body,
       coalesce(e.possible_duplicate_of::text, '')
  FROM sized AS s LEFT JOIN events AS e ON e.id = s.id
 WHERE s.n = 1 OR s.bytes <= $2
 ORDER BY s.n`

// Messages reads the events of jobs: as many of the first ones as fit into maxBytes of bodies, and at least one; read is their
// number. A purged or expunged event counts as read, and is missing in the map.
func (s *Store) Messages(
	ctx context.Context, eventIDs []string, maxBytes int,
) (messages map[string]delivery.Message, read int, err error) {
	messages = make(map[string]delivery.Message, len(eventIDs))
	_, err = pgx.CollectRows(s.db.Rows(ctx, selectMessages, eventIDs, maxBytes), func(row pgx.CollectableRow) (struct{}, error) {
		read++
		return struct{}{}, addMessage(messages, row)
	})
	if err != nil {
		return nil, 0, postgres.Failure("read events of deliveries", err)
	}
	return messages, read, nil
}

func addMessage(messages map[string]delivery.Message, row pgx.CollectableRow) error {
	var (
		id               string
		there            bool
		receipt, headers []byte
		m                delivery.Message
		occurred         *time.Time
	)
	if err := row.Scan(&id, &there, &receipt, &headers, &m.Type, &occurred, &m.Body, &m.PossibleDuplicateOf); err != nil || !there {
		return err
	}
	if err := json.Unmarshal(receipt, &m.Receipt); err != nil {
		return fmt.Errorf("decode receipt: %w", err)
	}
	if err := json.Unmarshal(headers, &m.Receipt.Headers); err != nil {
		return fmt.Errorf("decode headers: %w", err)
	}
	if occurred != nil {
		m.OccurredAt = occurred.UTC()
	}
	messages[id] = m
	return nil
}
