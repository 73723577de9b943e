package outbox

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/postgres"
)

const (
	// objectOfQuery names the object of a query for the audit log.
	objectOfQuery = `
SELECT coalesce('event:' || nullif($1::text, ''), (SELECT 'subscription:' || name FROM subscriptions WHERE id = $2),
                (SELECT 'destination:' || name FROM destinations WHERE id = $3), '')`

	// cancelPicked ends the deliveries locked by "picked", and discards their dead letters, as QueueDiscard does for one delivery.
	cancelPicked = `), ended AS (
     DELETE FROM delivery_queue AS q USING picked AS p
      WHERE q.ctid = p.place RETURNING q.*
), discarded AS (
     UPDATE dead_letters AS l
        SET state = 'discarded', replaying_since = NULL, next_replay_at = NULL, discarded_at = clock_timestamp(),
            discarded_by = %s, discard_reason = %s
       FROM ended AS e
      WHERE l.event_id = e.event_id AND l.subscription_id = e.subscription_id AND l.state IN ('open', 'replaying', 'exhausted')
), ended_rows AS (` + insertEnded + `
SELECT event_id, subscription_id, destination_id, 'canceled', 'canceled', attempts, generation, 0, NULL,
       queued_at
  FROM ended` + replaceEnded + reportEnded
)

// CountCancelable counts the pending deliveries of a query: those that are open and not leased. It stops at delivery.MaxCanceled
// + 1.
func (s *Store) CountCancelable(ctx context.Context, q delivery.Query) (n int64, err error) {
	list := waitingOf(`SELECT FROM delivery_queue AS q`, q)
	sql := `SELECT count(*) FROM (` + list.Statement() + ` LIMIT ` + strconv.Itoa(delivery.MaxCanceled+1) + `) AS waiting`
	err = s.db.QueryRow(ctx, sql, list.Args...).Scan(&n)
	return n, postgres.Failure("count waiting deliveries", err)
}

// CancelWaiting cancels up to limit pending deliveries of a query, oldest event first; never more than delivery.MaxCanceled. It
// commits in batches, each with its own audit entry: on an error, it also returns what was canceled before.
func (s *Store) CancelWaiting(
	ctx context.Context, q delivery.Query, limit int64, by oversight.Actor,
) (canceled int64, err error) {
	const doing = "cancel waiting deliveries"
	limit = min(limit, delivery.MaxCanceled)
	var object string
	err = s.db.QueryRow(ctx, objectOfQuery, postgres.Clean(q.EventID), q.SubscriptionID, q.DestinationID).Scan(&object)
	for err == nil && canceled < limit {
		batch := min(limit-canceled, rowsPerTransaction)
		var some int64
		if some, err = s.cancelBatch(ctx, q, batch, object, by); err != nil || some == 0 {
			break
		}
		canceled += some
	}
	return canceled, postgres.Failure(doing, err)
}

func (s *Store) cancelBatch(
	ctx context.Context, q delivery.Query, limit int64, object string, by oversight.Actor,
) (canceled int64, err error) {
	picked, args := pickWaiting(q, limit)
	conditions := postgres.NewList("")
	conditions.Args = args
	conditions.Where(cancelPicked, postgres.Clip(postgres.Clean(by.Name), audit.MaxName),
		postgres.Clip(postgres.Clean(cmp.Or(by.Reason, "its delivery was canceled")), audit.MaxReason))
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(`WITH picked AS MATERIALIZED (`+picked+conditions.Conditions[0], conditions.Args...).Query(countReported(&canceled))
	tx, err := s.db.Begin(ctx, b)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback(ctx)
	if canceled == 0 {
		return 0, nil
	}
	detail, err := json.Marshal(map[string]int64{"canceled": canceled})
	if err != nil {
		return 0, err
	}
	b = &pgx.Batch{}
	audit.Queue(b, by.Did(oversight.AuditDeliveryCancel, object, detail))
	return canceled, tx.Commit(ctx, b)
}

// pickWaiting locks the oldest pending deliveries of a query. Those of a destination are read by subscription, in the order of an
// index, since there may be millions.
func pickWaiting(q delivery.Query, limit int64) (sql string, args []any) {
	list := waitingOf(`SELECT ctid AS place, event_id FROM delivery_queue AS q`, q)
	first := ` LIMIT ` + strconv.FormatInt(limit, 10)
	const oldest = ` ORDER BY q.event_id`
	if q.DestinationID == 0 || q.SubscriptionID != 0 || q.EventID != "" {
		return list.Statement() + oldest + first + ` FOR UPDATE SKIP LOCKED`, list.Args
	}
	list.Where(`q.subscription_id = each.id`)
	of := list.Statement() + oldest + first + ` FOR UPDATE SKIP LOCKED`
	list.Where(`each.destination_id = %s`, q.DestinationID)
	return `SELECT q.place FROM subscriptions AS each CROSS JOIN LATERAL (` + of + `) AS q WHERE ` +
		list.Conditions[len(list.Conditions)-1] + oldest + first, list.Args
}

// waitingOf selects the deliveries of a query that are open and not leased.
func waitingOf(selection string, q delivery.Query) *postgres.List {
	list := postgres.NewList(selection)
	list.Where(`(q.lease IS NULL OR q.due_at <= statement_timestamp())`)
	if q.EventID != "" {
		list.Where(`q.event_id = %s::uuid`, postgres.Clean(q.EventID))
	}
	if q.SubscriptionID != 0 {
		list.Where(`q.subscription_id = %s`, q.SubscriptionID)
	}
	if q.DestinationID != 0 {
		list.Where(`q.destination_id = %s`, q.DestinationID)
	}
	if !q.Since.IsZero() {
		list.Where(`q.event_id >= %s::uuid`, event.FirstIDAt(q.Since))
	}
	if !q.Until.IsZero() {
		list.Where(`q.event_id < %s::uuid`, event.FirstIDAt(q.Until))
	}
	if q.Status != "" {
		list.Where(openStatus+` = %s`, string(q.Status))
	}
	return list
}
