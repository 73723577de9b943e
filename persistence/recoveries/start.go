package recoveries

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event/operation"
	"holdfast/persistence/postgres"
)

const (
	nextItems = `
SELECT at, lane, receipt, body, path, redeliverable FROM (
       SELECT *, ` + postgres.FitsPage + ` AS fits FROM (
              SELECT *, octet_length(body) AS size FROM recovery_items
               WHERE recovery_id = $1 AND NOT is_delivered ORDER BY recovery_id, at, workflow_id LIMIT $2) AS sized
       WINDOW page AS (ORDER BY at, workflow_id)) AS next
 WHERE fits ORDER BY at, workflow_id`

	dropStarted = `DELETE FROM recovery_items WHERE recovery_id = $1 AND workflow_id = ANY ($2::text[])`

	// countStarted counts an event once, with the removal of its row: an attempt that was killed in between repeats both.
	countStarted = `
UPDATE recoveries SET recovered = recovered + $2, arrived = arrived + $3, failed = failed + $4, asked = asked + $6,
       retry_at = NULL, problem = CASE WHEN $5 <> '' THEN $5 WHEN failed = 0 THEN '' ELSE problem END
 WHERE id = $1`

	// addRemainders keeps that an event was asked for.
	addRemainders = `
INSERT INTO recovery_remainders AS l (workflow_id, tried) SELECT * FROM unnest($1::text[], $2::boolean[])
ON CONFLICT (workflow_id) DO UPDATE SET at = excluded.at, tried = l.tried OR excluded.tried`

	// countRefused counts from the minute of the first missed event on. Without a count of that time nothing is said.
	countRefused = `
UPDATE recoveries AS r
   SET refused = (SELECT coalesce(sum(m.requests), 0) FROM refused_minutes AS m
                   WHERE m.provider = r.provider AND m.minute >= date_trunc('minute', r.first_missed) AND m.minute <= r.until)
 WHERE r.id = $1 AND r.first_missed >= (SELECT min(b.minute) FROM refused_minutes AS b WHERE b.provider = '')`

	hasItems = `SELECT EXISTS (SELECT FROM recovery_items WHERE recovery_id = $1 AND NOT is_delivered)`
)

// Next returns up to n missed events to start, oldest first, as many as fit into a page.
func (s *Store) Next(ctx context.Context, id string, n int) ([]operation.RecoveryItem, error) {
	rows := s.DB.Rows(ctx, nextItems, id, n)
	items, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (i operation.RecoveryItem, err error) {
		var receipt []byte
		if err := row.Scan(&i.At, &i.Lane, &receipt, &i.Body, &i.Path, &i.Redeliverable); err != nil {
			return i, err
		}
		if err := json.Unmarshal(receipt, &i.Receipt); err != nil {
			return i, fmt.Errorf("decode receipt: %w", err)
		}
		return i, nil
	})
	return items, postgres.Failure("read missed events of recovery "+id, err)
}

// Settle counts what has become of some missed events, and removes them. It does nothing if an earlier call has removed them.
func (s *Store) Settle(
	ctx context.Context, id string, items []operation.RecoveryItem, became operation.RecoveryStart,
) (operation.Recovery, error) {
	if err := s.settle(ctx, id, items, became); err != nil {
		return operation.Recovery{}, postgres.Failure("settle events of recovery "+id, err)
	}
	return s.Read(ctx, id)
}

func (s *Store) settle(ctx context.Context, id string, items []operation.RecoveryItem, became operation.RecoveryStart) error {
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = item.Receipt.WorkflowID()
	}
	var dropped int64
	b := &pgx.Batch{}
	s.QueueLock(b, id, func(row pgx.Row) error { _, err := scanRecovery(row); return err })
	b.Queue(dropStarted, id, ids).Exec(postgres.CountInto(&dropped))
	tx, err := s.DB.Begin(ctx, b)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if dropped == 0 {
		return nil
	}
	b = &pgx.Batch{}
	b.Queue(countStarted, id, became.Recovered, became.Arrived, became.Failed,
		postgres.Clip(postgres.Clean(became.Problem), maxProblem), became.Asked)
	if len(became.Left) > 0 {
		left, tried := slices.Sorted(maps.Keys(became.Left)), make([]bool, len(became.Left))
		for i, id := range left {
			tried[i] = became.Left[id]
		}
		b.Queue(addRemainders, left, tried)
	}
	return tx.Commit(ctx, b)
}

// Finish completes a running recovery that has read its list and started everything, and moves the watermark of the list, unless
// it is a dry run. Otherwise it does nothing.
func (s *Store) Finish(ctx context.Context, id string) (operation.Recovery, error) {
	if err := s.finish(ctx, id); err != nil {
		return operation.Recovery{}, postgres.Failure("finish recovery "+id, err)
	}
	r, err := s.Read(ctx, id)
	if err == nil && r.State.Ended() {
		err = s.Drop(ctx, id)
	}
	return r, err
}

func (s *Store) finish(ctx context.Context, id string) error {
	var r operation.Recovery
	var isLeft bool
	b := &pgx.Batch{}
	s.QueueLock(b, id, func(row pgx.Row) (err error) {
		r, err = scanRecovery(row)
		return err
	})
	b.Queue(hasItems, id).QueryRow(func(row pgx.Row) error { return row.Scan(&isLeft) })
	tx, err := s.DB.Begin(ctx, b)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if r.State != operation.Running || !r.HasReadList() || isLeft && !r.DryRun {
		return nil
	}
	b = &pgx.Batch{}
	s.QueueEnd(b, id, operation.Completed)
	if r.Missed > 0 {
		b.Queue(countRefused, id)
	}
	if !r.DryRun && r.Since.Before(r.Until) {
		queueWatermark(b, r)
	}
	return tx.Commit(ctx, b)
}
