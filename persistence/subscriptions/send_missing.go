package subscriptions

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/postgres"
)

// ResendMissing queues an event for a subscription, active or not, and reports whether it did. It doesn't if the event has a
// delivery already, doesn't match, or isn't processed. An imported event is sent, too. It returns event.ErrNotFound if the
// subscription doesn't exist.
func (s *Resends) ResendMissing(ctx context.Context, k delivery.Key, by oversight.Actor) (isSent bool, err error) {
	isSent, err = s.resendMissing(ctx, k, by)
	if err != nil {
		return false, postgres.Failure("send missing delivery", err)
	}
	return isSent, nil
}

func (s *Resends) resendMissing(ctx context.Context, k delivery.Key, by oversight.Actor) (isSent bool, err error) {
	id := postgres.Clean(k.EventID)
	b := &pgx.Batch{}
	b.Queue(postgres.EventLock, id)
	tx, err := s.DB.Begin(ctx, b)
	if err != nil {
		return false, err
	}
	defer tx.Rollback(ctx)
	of, err := readResent(ctx, tx, k.SubscriptionID)
	if err == nil && of.gone {
		err = event.ErrNotFound
	}
	if err != nil {
		return false, err
	}
	page, err := of.read(ctx, tx.Send, resentEvent, id)
	if err != nil {
		return false, err
	}
	queued, err := of.queue(ctx, tx, page, operation.Resend{Imported: true})
	if err != nil || queued == 0 {
		return false, err
	}
	b = &pgx.Batch{}
	audit.Queue(b, by.Did(oversight.AuditDeliveryResend, fmt.Sprintf("delivery:%s/%d", id, k.SubscriptionID), nil))
	if err := tx.Commit(ctx, b); err != nil {
		return false, err
	}
	s.subscriptions.madeDue(of.Subscription)
	return true, nil
}

// madeDue notifies those who send on what was queued for a subscription.
func (s *Store) madeDue(of delivery.Subscription) {
	s.outbox.MadeDue(of.DestinationID)
	if of.OrderBy != "" {
		s.outbox.SignalSort()
	}
}

// orderKeyOf returns the order key of a delivery that is sent again, by the subscription's present order_by.
func orderKeyOf(ctx context.Context, t *postgres.Transaction, k delivery.Key) (string, error) {
	of, err := readResent(ctx, t, k.SubscriptionID)
	if err != nil || of.gone || of.OrderBy == "" {
		return "", err
	}
	found := map[string]delivery.Message{}
	b := &pgx.Batch{}
	b.Queue(anyEvent, true, k.EventID).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if err := addMessage(found, rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	if err := t.Send(ctx, b); err != nil {
		return "", err
	}
	key := ""
	for _, m := range found {
		var failed bool
		if key, failed = of.KeyOf(ctx, m); failed {
			return "", event.Rejectf(delivery.CodeOrderByError, "order_by of subscription %s could not be evaluated", of.Name)
		}
	}
	return key, ctx.Err()
}
