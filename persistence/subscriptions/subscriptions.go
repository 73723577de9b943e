package subscriptions

import (
	"context"
	"encoding/json"
	"math"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/postgres"
)

const (
	subscriptionColumns = `
SELECT s.id, s.name, s.settings, s.version, s.destination_id, s.active, d.name, s.deleted_at IS NOT NULL
  FROM subscriptions AS s JOIN destinations AS d ON d.id = s.destination_id`

	selectSubscriptions = subscriptionColumns + ` WHERE s.deleted_at IS NULL AND s.name > $1 ORDER BY s.name LIMIT $2`

	selectSubscription = subscriptionColumns + `
 WHERE s.deleted_at IS NULL AND (s.name = $1 OR s.id = $2) ORDER BY s.name = $1 DESC LIMIT 1`

	subscriptionsTo = subscriptionColumns + ` WHERE s.destination_id = $1 AND s.deleted_at IS NULL`

	sameSubscription = `
SELECT s.settings = $2::jsonb AND s.active = $3 AND d.name = $4
  FROM subscriptions AS s JOIN destinations AS d ON d.id = s.destination_id
 WHERE s.deleted_at IS NULL AND s.name = $1`

	insertSubscription = `
INSERT INTO subscriptions (name, destination_id, settings, active, version) VALUES ($1, $2, $3::jsonb, $4, $5) RETURNING id`

	updateSubscription = `
UPDATE subscriptions SET destination_id = $2, settings = $3::jsonb, active = $4, version = $5, changed_at = clock_timestamp()
 WHERE id = $1`

	removeSubscriptions = `
UPDATE subscriptions SET deleted_at = clock_timestamp(), changed_at = clock_timestamp(), active = false, version = $2`
	deleteSubscription = removeSubscriptions + ` WHERE id = $1`

	// moveWaiting moves pending deliveries to another destination, in parts. Deliveries in flight stay until they have ended.
	moveWaiting = `
UPDATE delivery_queue AS q SET destination_id = $2
  FROM (SELECT ctid AS place FROM delivery_queue
         WHERE subscription_id = $1 AND destination_id <> $2 AND lease IS NULL LIMIT $3 FOR UPDATE SKIP LOCKED) AS waiting
 WHERE q.ctid = waiting.place`

	// atOnce bounds the rows that one statement moves, so that its row locks are short.
	atOnce = 1000
)

// ApplySubscription creates a subscription, or changes the one of that name, and returns its new state. If nothing changes,
// nothing is written. Once it has returned, it applies to all events received from then on. The error is an event.Error of class
// rejected and code "invalid_subscription" if it is invalid, or there is no such destination.
//
// If its destination changes, its pending deliveries move to the new one.
func (s *Store) ApplySubscription(
	ctx context.Context, sub delivery.Subscription, actor oversight.Actor,
) (delivery.Subscription, error) {
	applied, moved, err := s.applySubscription(ctx, sub, actor)
	if err == nil && moved {
		err = s.moveWaiting(ctx, applied)
	}
	return applied, postgres.Failure("apply subscription "+postgres.Clip(postgres.Clean(sub.Name), 100), err)
}

func (s *Store) applySubscription(
	ctx context.Context, sub delivery.Subscription, actor oversight.Actor,
) (applied delivery.Subscription, moved bool, err error) {
	if err := sub.Check(); err != nil {
		return sub, false, err
	}
	settings, err := sub.Settings()
	if err != nil {
		return sub, false, event.Rejectf("invalid_subscription", "it cannot be written as JSON")
	}
	var before *delivery.Subscription
	var to *destination
	same := false
	c, err := s.beginChange(ctx, func(b *pgx.Batch) {
		queueDestination(b, sub.To, &to)
		queueSubscription(b, sub.Name, &before)
		b.Queue(sameSubscription, sub.Name, string(settings), sub.Active, sub.To).Query(firstInto(&same))
	})
	if err != nil {
		return sub, false, err
	}
	defer c.Rollback(ctx)
	if before != nil && before.Name != sub.Name {
		before = nil // it was found by its number, not its name
	}
	switch {
	case to == nil || to.Name != sub.To:
		return sub, false, event.Rejectf("invalid_subscription", "to: there is no destination %s", sub.To)
	case to.err != nil:
		return sub, false, to.err
	case before != nil && same:
		return *before, false, nil
	}
	var stored int64
	if before != nil {
		stored = before.Version
	}
	if err := delivery.CheckVersion(sub.Version, stored); err != nil {
		return sub, false, err
	}
	if err := sub.CheckFor(to.Destination); err != nil {
		return sub, false, err
	}
	sub.To, sub.DestinationID, sub.Version = to.Name, to.ID, c.version
	b := &pgx.Batch{}
	if before == nil {
		b.Queue(insertSubscription, sub.Name, to.ID, string(settings), sub.Active, c.version).QueryRow(func(row pgx.Row) error {
			return row.Scan(&sub.ID)
		})
	} else {
		sub.ID, moved = before.ID, before.DestinationID != to.ID
		b.Queue(updateSubscription, sub.ID, to.ID, string(settings), sub.Active, c.version)
		b.Queue(awaitDirect, before.DestinationID)
	}
	detail := audit.DetailOf(map[string]any{"version": c.version, "new": before == nil, "to": sub.To, "active": sub.Active})
	audit.Queue(b, actor.Did(oversight.AuditSubscriptionApply, auditObject("subscription", sub.Name), detail))
	return sub, moved, c.Commit(ctx, b)
}

func (s *Store) moveWaiting(ctx context.Context, sub delivery.Subscription) error {
	for {
		tag, err := s.db.Exec(ctx, moveWaiting, sub.ID, sub.DestinationID, atOnce)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			s.outbox.MadeDue(sub.DestinationID)
			return nil
		}
	}
}

func queueSubscription(b *pgx.Batch, nameOrID string, into **delivery.Subscription) {
	b.Queue(selectSubscription, postgres.Clean(nameOrID), number(nameOrID)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			s, gone := &delivery.Subscription{}, false
			if _, err := scanSubscription(rows, s, &gone); err != nil {
				return err
			}
			*into = s
		}
		return rows.Err()
	})
}

// scanSubscription returns invalid settings as a separate error: such a subscription has its name and destination, and matches
// nothing.
func scanSubscription(row pgx.Row, s *delivery.Subscription, gone *bool, more ...any) (unreadable, err error) {
	var id, version, destinationID int64
	var name, to string
	var active bool
	var settings []byte
	columns := append([]any{&id, &name, &settings, &version, &destinationID, &active, &to, gone}, more...)
	if err := row.Scan(columns...); err != nil {
		return nil, err
	}
	if unreadable = json.Unmarshal(settings, s); unreadable != nil {
		*s = delivery.Subscription{}
		active = false
	}
	s.ID, s.Name, s.To, s.DestinationID, s.Active, s.Version = id, name, to, destinationID, active, version
	return unreadable, nil
}

// Subscription returns a subscription by its name or number.
func (s *Store) Subscription(ctx context.Context, nameOrID string) (delivery.Subscription, error) {
	sub, err := s.subscription(ctx, nameOrID)
	return sub, postgres.Failure("read subscription "+postgres.Clip(postgres.Clean(nameOrID), 100), err)
}

func (s *Store) subscription(ctx context.Context, nameOrID string) (delivery.Subscription, error) {
	var sub *delivery.Subscription
	b := &pgx.Batch{}
	queueSubscription(b, nameOrID, &sub)
	if err := s.db.SendRead(ctx, b); err != nil {
		return delivery.Subscription{}, err
	}
	if sub == nil {
		return delivery.Subscription{}, event.ErrNotFound
	}
	return *sub, nil
}

// Subscriptions returns all of them, by name. One that this version can't read has only its name and its destination.
func (s *Store) Subscriptions(ctx context.Context) ([]delivery.Subscription, error) {
	return s.SubscriptionsAfter(ctx, "", math.MaxInt32)
}

// SubscriptionsAfter returns a page of Subscriptions: those after a name, up to limit.
func (s *Store) SubscriptionsAfter(ctx context.Context, name string, limit int) ([]delivery.Subscription, error) {
	rows := s.db.Rows(ctx, selectSubscriptions, postgres.Clean(name), limit)
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (delivery.Subscription, error) {
		var sub delivery.Subscription
		var gone bool
		_, err := scanSubscription(row, &sub, &gone)
		return sub, err
	})
	return all, postgres.Failure("list subscriptions", err)
}

// DeleteSubscription removes a subscription, cancels its open deliveries, and counts them. A destination of the same name, as the
// flat form creates it, is removed too unless another subscription uses it. If this ends early, the remaining deliveries are
// canceled by the next sweep, or when they are due, since they have no target any more.
func (s *Store) DeleteSubscription(ctx context.Context, nameOrID string, actor oversight.Actor) (delivery.Removed, error) {
	gone, err := s.deleteSubscription(ctx, nameOrID, actor)
	if err != nil {
		return gone, postgres.Failure("delete subscription "+postgres.Clip(postgres.Clean(nameOrID), 100), err)
	}
	gone.Canceled = s.outbox.CancelAllDeleted(ctx)
	return gone, nil
}

func (s *Store) deleteSubscription(
	ctx context.Context, nameOrID string, actor oversight.Actor,
) (gone delivery.Removed, err error) {
	var sub *delivery.Subscription
	c, err := s.beginChange(ctx, func(b *pgx.Batch) { queueSubscription(b, nameOrID, &sub) })
	if err != nil {
		return gone, err
	}
	defer c.Rollback(ctx)
	if sub == nil {
		return gone, event.ErrNotFound
	}
	b := &pgx.Batch{}
	b.Queue(deleteSubscription, sub.ID, c.version)
	b.Queue(awaitDirect, sub.DestinationID)
	audit.Queue(b, actor.Did(oversight.AuditSubscriptionDelete, auditObject("subscription", sub.Name), nil))
	if sub.To != sub.Name {
		return gone, c.Commit(ctx, b)
	}
	var others []string
	b.Queue(subscriptionsOf, sub.DestinationID).Query(postgres.Collect(&others, pgx.RowTo[string]))
	if err := c.Send(ctx, b); err != nil {
		return gone, err
	}
	b = &pgx.Batch{}
	if len(others) == 0 {
		gone.Destination = sub.To
		b.Queue(deleteDestination, sub.DestinationID, c.version)
		audit.Queue(b, actor.Did(oversight.AuditDestinationDelete, auditObject("destination", sub.To), nil))
	}
	return gone, c.Commit(ctx, b)
}
