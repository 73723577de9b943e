package recoveries

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/postgres"
)

const (
	// findKnown finds the events that the database has in any form, and the types that have ever arrived. A discarded, replaced or
	// expunged event has its key. For the schedule ($5), those are known as well that an earlier recovery has reported, unless it
	// may now ask the provider for them ($6).
	findKnown = `
SELECT w.n,
       EXISTS (SELECT FROM idempotency_keys AS k WHERE k.provider = $1 AND k.key = w.key OFFSET 0)
       OR EXISTS (SELECT FROM events AS e WHERE e.workflow_id = w.id OFFSET 0)
       OR EXISTS (SELECT FROM dead_letters AS d WHERE d.workflow_id = w.id OFFSET 0)
       OR EXISTS (SELECT FROM inbox AS i WHERE i.workflow_id = w.id OFFSET 0)
       OR $5 AND EXISTS (SELECT FROM recovery_remainders AS l WHERE l.workflow_id = w.id AND (l.tried OR NOT $6) OFFSET 0),
       EXISTS (SELECT FROM events AS e WHERE e.provider = $1 AND e.type = w.type OFFSET 0)
       OR EXISTS (SELECT FROM dead_letters AS d WHERE d.type = w.type AND d.provider = $1 OFFSET 0)
  FROM unnest($2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS w (id, key, type, n)`

	// waitingLarge reads the receipts of large events that may not have a run yet: their rows aren't named after their workflows.
	waitingLarge = `SELECT receipt FROM inbox WHERE lane = 'large' AND provider = $1`

	// stageItems stages each missed event once, however often the list has it, and counts the new ones.
	stageItems = `
WITH staged AS (
INSERT INTO recovery_items (recovery_id, workflow_id, at, event_id, lane, receipt, body, path, redeliverable, is_delivered)
SELECT $1, workflow_id, at, event_id::uuid, lane, receipt, body, path, redeliverable, is_delivered
  FROM unnest($2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::bytea[], $7::bytea[], $8::text[], $9::boolean[],
       $10::boolean[]) AS i (workflow_id, at, event_id, lane, receipt, body, path, redeliverable, is_delivered)
ON CONFLICT DO NOTHING
RETURNING workflow_id)
SELECT workflow_id FROM staged`

	advanceRecovery = `
UPDATE recoveries SET walk = $2, listed = listed + $3, known = known + $4, unwanted = unwanted + $5, unsafe = unsafe + $6,
       missed = missed + $7, retrying = retrying + $8, examples = $9::jsonb, problem = '', retry_at = NULL,
       first_missed = least(first_missed, $10), last_missed = greatest(last_missed, $11), redeliverable = redeliverable + $12
 WHERE id = $1`
)

// Unknown returns the workflow IDs of the events of a page that the database doesn't have.
func (s *Store) Unknown(ctx context.Context, of operation.Recovery, p operation.RecoveryPage) (ids []string, err error) {
	if len(p.Items) == 0 {
		return nil, nil
	}
	isKnown, hasType := make([]bool, len(p.Items)), make([]bool, len(p.Items))
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	queueKnown(b, of, p, isKnown, hasType)
	if err := s.DB.SendRead(ctx, b); err != nil {
		return nil, postgres.Failure("look for the events of recovery "+postgres.Clean(of.ID), err)
	}
	for i, item := range p.Items {
		if !isKnown[i] {
			ids = append(ids, item.Receipt.WorkflowID())
		}
	}
	return ids, nil
}

// AddPage stages the missed events of a page, counts the others, and moves the position behind the page, in one transaction: if
// it is killed before its commit it has done nothing. It does nothing if the recovery doesn't run, or isn't at the position
// before.
func (s *Store) AddPage(ctx context.Context, before operation.Recovery, p operation.RecoveryPage) (operation.Recovery, error) {
	if err := s.addPage(ctx, before, p); err != nil {
		return operation.Recovery{}, postgres.Failure("add page of recovery "+before.ID, err)
	}
	return s.Read(ctx, before.ID)
}

func (s *Store) addPage(ctx context.Context, before operation.Recovery, p operation.RecoveryPage) error {
	var now operation.Recovery
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	s.QueueLock(b, before.ID, func(row pgx.Row) (err error) {
		now, err = scanRecovery(row)
		return err
	})
	isKnown, hasType := make([]bool, len(p.Items)), make([]bool, len(p.Items))
	queueKnown(b, before, p, isKnown, hasType)
	tx, err := s.DB.Begin(ctx, b)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if now.State != operation.Running || string(now.Walk) != string(before.Walk) {
		return nil
	}
	adds := operation.Recovery{Listed: p.Listed, Unwanted: p.Unwanted, Unsafe: p.Unsafe, Examples: now.Examples}
	var missed []operation.RecoveryItem
	for i, item := range withDelivered(p.Items) {
		switch {
		case (isKnown[i] || p.Waiting[item.Receipt.WorkflowID()]) && !item.IsDelivered:
			adds.Known++
		case !hasType[i] && !item.AnyType:
			adds.Unwanted++
		default:
			missed = append(missed, item)
		}
	}
	staged, err := stage(ctx, tx, now, missed)
	if err != nil {
		return err
	}
	for _, item := range missed {
		switch id := item.Receipt.WorkflowID(); {
		case item.IsDelivered:
			adds.Known++
		case staged[id]:
			delete(staged, id) // an earlier attempt of the same delivery isn't another event
			countMissed(&adds, item)
		}
	}
	b = &pgx.Batch{}
	b.Queue(advanceRecovery, now.ID, textOf(p.Next), adds.Listed, adds.Known, adds.Unwanted, adds.Unsafe, adds.Missed, adds.Retrying,
		postgres.JSON{Of: append([]operation.MissedEvent{}, adds.Examples...)}, nullOf(adds.FirstMissed), nullOf(adds.LastMissed),
		adds.Redeliverable)
	return tx.Commit(ctx, b)
}

// withDelivered marks all attempts of a delivery if one of them has succeeded. Later pages have earlier attempts, so an attempt
// that failed although an earlier one had succeeded may count as missed: it is sent again, as a duplicate.
func withDelivered(items []operation.RecoveryItem) []operation.RecoveryItem {
	delivered := map[string]bool{}
	for _, item := range items {
		delivered[item.Receipt.WorkflowID()] = delivered[item.Receipt.WorkflowID()] || item.IsDelivered
	}
	items = slices.Clone(items)
	for i := range items {
		items[i].IsDelivered = delivered[items[i].Receipt.WorkflowID()]
	}
	return items
}

func countMissed(adds *operation.Recovery, item operation.RecoveryItem) {
	adds.Missed++
	if adds.FirstMissed.IsZero() || item.At.Before(adds.FirstMissed) {
		adds.FirstMissed = item.At
	}
	if item.At.After(adds.LastMissed) {
		adds.LastMissed = item.At
	}
	if item.Retrying {
		adds.Retrying++
	}
	if item.Redeliverable {
		adds.Redeliverable++
	}
	if len(adds.Examples) < operation.MaxExamples {
		adds.Examples = append(adds.Examples, operation.MissedEvent{
			WorkflowID: item.Receipt.WorkflowID(), Type: postgres.Clean(item.Receipt.Type), At: item.At.UTC(),
		})
	}
}

func queueKnown(b *pgx.Batch, of operation.Recovery, p operation.RecoveryPage, isKnown, hasType []bool) {
	items := p.Items
	if len(items) == 0 {
		return
	}
	ids, keys, types := make([]string, len(items)), make([]string, len(items)), make([]string, len(items))
	for i, item := range items {
		ids[i], keys[i], types[i] = item.Receipt.WorkflowID(), item.Receipt.Key, postgres.Clean(item.Receipt.Type)
	}
	queueLarge(b, of.Provider, ids, isKnown)
	isScheduled := of.StartedBy == operation.RecoverySchedule
	b.Queue(findKnown, of.Provider, ids, keys, types, isScheduled, p.Redelivers).Query(func(rows pgx.Rows) error {
		var n int
		var known, ofType bool
		_, err := pgx.ForEachRow(rows, []any{&n, &known, &ofType}, func() error {
			isKnown[n-1], hasType[n-1] = isKnown[n-1] || known, ofType
			return nil
		})
		return err
	})
}

// queueLarge marks the workflow IDs whose large event is in the inbox.
func queueLarge(b *pgx.Batch, provider string, ids []string, isKnown []bool) {
	b.Queue(waitingLarge, provider).Query(func(rows pgx.Rows) error {
		waiting := map[string]bool{}
		var receipt []byte
		_, err := pgx.ForEachRow(rows, []any{&receipt}, func() error {
			var r event.Receipt
			if json.Unmarshal(receipt, &r) == nil { // one that this version can't read becomes a dead letter
				waiting[r.WorkflowID()] = true
			}
			return nil
		})
		for i, id := range ids {
			isKnown[i] = isKnown[i] || waiting[id]
		}
		return err
	})
}

// stage stages missed events, and returns which of them are new. A dry run needs only their keys.
func stage(
	ctx context.Context, tx *postgres.Transaction, r operation.Recovery, missed []operation.RecoveryItem,
) (staged map[string]bool, err error) {
	staged = map[string]bool{}
	if len(missed) == 0 {
		return staged, nil
	}
	var ids, events, lanes, paths []string
	var redeliverable, isDelivered []bool
	var times []time.Time
	var receipts, bodies postgres.ByteaArray
	for _, item := range missed {
		var receipt, body []byte
		if !r.DryRun {
			if receipt, err = json.Marshal(item.Receipt); err != nil {
				return nil, fmt.Errorf("encode receipt of %s: %w", item.Receipt.WorkflowID(), err)
			}
			body = item.Body
		}
		ids, events, lanes = append(ids, item.Receipt.WorkflowID()), append(events, item.Receipt.ID), append(lanes, string(item.Lane))
		times, paths = append(times, item.At), append(paths, item.Path)
		redeliverable, isDelivered = append(redeliverable, item.Redeliverable), append(isDelivered, item.IsDelivered)
		receipts, bodies = append(receipts, postgres.Bytea(receipt)), append(bodies, postgres.Bytea(body))
	}
	b := &pgx.Batch{}
	queued := b.Queue(stageItems, r.ID, ids, times, events, lanes, receipts, bodies, paths, redeliverable, isDelivered)
	queued.Query(func(rows pgx.Rows) error {
		var id string
		_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
			staged[id] = true
			return nil
		})
		return err
	})
	return staged, tx.Send(ctx, b)
}
