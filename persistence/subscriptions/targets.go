package subscriptions

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence/postgres"
)

// Target returns what an attempt needs, as of the last API change. The error is event.ErrNotFound if the subscription is gone.
func (s *Store) Target(ctx context.Context, subscriptionID int64) (delivery.Target, error) {
	if err := s.refreshTogether(ctx); err != nil {
		return delivery.Target{}, err
	}
	return s.target(subscriptionID)
}

// Targets returns the targets of many subscriptions after one check of their version, or the error of each.
func (s *Store) Targets(ctx context.Context, subscriptionIDs []int64) (map[int64]delivery.Target, map[int64]error) {
	targets, failed := make(map[int64]delivery.Target, len(subscriptionIDs)), map[int64]error{}
	unread := s.refreshTogether(ctx)
	for _, id := range subscriptionIDs {
		if _, known := targets[id]; known {
			continue
		}
		t, err := delivery.Target{}, unread
		if err == nil {
			t, err = s.target(id)
		}
		if targets[id] = t; err != nil {
			failed[id] = err
		}
	}
	return targets, failed
}

func (s *Store) target(subscriptionID int64) (delivery.Target, error) {
	const doing = "read target of a delivery"
	t, stored, isListed, err := s.cache.target(subscriptionID)
	if err != nil {
		return delivery.Target{}, postgres.Failure(doing, err)
	}
	secrets, err := s.open(stored.secrets)
	if err != nil {
		return delivery.Target{}, postgres.Failure(doing, err)
	}
	for _, one := range inUse(secrets, now()) {
		t.Secrets = append(t.Secrets, one.Value)
	}
	h := t.Destination.Link()
	if h == nil {
		return t, nil
	}
	if h.Secrets != "" && t.Destination.HTTP == nil { // a queue has one secret
		t.Secrets = nil
	}
	if h.Secrets != "" && isListed && s.cfg.Secrets != nil {
		t.Secrets = append(t.Secrets, s.cfg.Secrets(h.Secrets)...)
	}
	whole := *h
	if whole.Headers, err = s.openHeaders(stored.headers); err != nil {
		return delivery.Target{}, postgres.Failure(doing, err)
	}
	if whole.StoresKey() {
		if whole.Key, err = s.openKey(stored.clientKey); err != nil {
			return delivery.Target{}, postgres.Failure(doing, err)
		}
	}
	if t.Destination.HTTP != nil {
		t.Destination.HTTP = &whole
	}
	t.Destination = t.Destination.WithBroker(func(c *delivery.Connection) { c.Key = whole.Key })
	return t, nil
}

// target also reports whether the variable that the destination names is listed.
func (k *cache) target(subscriptionID int64) (t delivery.Target, stored destination, isListed bool, err error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if _, unreadable := k.unreadable[subscriptionID]; unreadable {
		return t, stored, false, errUnreadable
	}
	sub, known := k.subscriptions[subscriptionID]
	to, hasPlace := k.destinations[sub.DestinationID]
	if !known || !hasPlace {
		return t, stored, false, event.ErrNotFound
	}
	t = delivery.Target{Destination: to.Destination, Subscription: sub}
	return t, to, k.variables[variableOf(to.Destination)], to.err
}

// refreshTogether lets concurrent callers share one check of the version: an attempt that begins while a change commits may still
// use the earlier state.
func (s *Store) refreshTogether(ctx context.Context) error {
	shared := context.WithoutCancel(ctx)
	look := s.looks.DoChan("", func() (any, error) { return nil, s.refreshSafely(shared) })
	select {
	case done := <-look:
		return done.Err
	case <-ctx.Done():
		return postgres.Failure("read version of subscriptions", ctx.Err())
	}
}

// lookFor bounds a check that belongs to no caller.
const lookFor = 5 * time.Second

// refreshSafely recovers panics, since this goroutine has no other recovery.
func (s *Store) refreshSafely(ctx context.Context) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &event.Error{
				Class: event.ClassFailed, Code: "panic", Text: fmt.Sprintf("reading subscriptions panicked with a %T", value),
			}
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	return s.Refresh(ctx)
}

// selectMessages adds up sizes before it reads a body.
const selectMessages = `
WITH sized AS MATERIALIZED (
     SELECT i.id, i.n, sum(coalesce(e.bytes, 0)) OVER (ORDER BY i.n) AS bytes
       FROM unnest($1::uuid[]) WITH ORDINALITY AS i (id, n)
       LEFT JOIN LATERAL (SELECT octet_length(raw_body) AS bytes FROM events WHERE id = i.id OFFSET 0) AS e ON true
)
SELECT s.id::text, e.id IS NOT NULL, e.receipt, e.headers, coalesce(e.type, ''), e.occurred_at, e.raw_body,
       coalesce(e.possible_duplicate_of::text, '')
  FROM sized AS s LEFT JOIN LATERAL (SELECT * FROM events WHERE id = s.id OFFSET 0) AS e ON true
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

// addMessage adds the event of a row, unless it is gone. before are the columns in front of the event's.
func addMessage(messages map[string]delivery.Message, row pgx.CollectableRow, before ...any) error {
	var id string
	var there bool
	var r Row
	err := row.Scan(append(before,
		&id, &there, &r.Receipt, &r.Headers, &r.Type, postgres.TimeOrZero(&r.OccurredAt), &r.Body, &r.PossibleDuplicateOf)...)
	if err != nil || !there {
		return err
	}
	messages[id], err = r.message()
	return err
}

// Row contains the columns of an event's row that a message is made of.
type Row struct {
	Receipt, Headers    []byte
	Type                string
	OccurredAt          time.Time
	Body                []byte
	PossibleDuplicateOf string
}

func (r Row) message() (delivery.Message, error) {
	m := delivery.Message{
		Type: r.Type, OccurredAt: r.OccurredAt, Body: r.Body, PossibleDuplicateOf: r.PossibleDuplicateOf,
	}
	if err := json.Unmarshal(r.Receipt, &m.Receipt); err != nil {
		return m, fmt.Errorf("decode receipt: %w", err)
	}
	if err := json.Unmarshal(r.Headers, &m.Receipt.Headers); err != nil {
		return m, fmt.Errorf("decode headers: %w", err)
	}
	return m, nil
}
