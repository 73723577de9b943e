package persistence

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

const (
	waitingColumns = `SELECT seq, lane, receipt, reject, attempts, coalesce(last_error, ''), due_at, raw_body FROM inbox`

	// claimInbox passes over what another process works on.
	claimInbox = waitingColumns + `
 WHERE lane = $1 AND due_at <= clock_timestamp() ORDER BY seq LIMIT $2 FOR UPDATE SKIP LOCKED`

	deleteInbox = `DELETE FROM inbox WHERE workflow_id = ANY($1::text[])`

	postponeInbox = `
UPDATE inbox SET attempts = attempts + 1, last_error = $2, due_at = clock_timestamp() + $3::interval WHERE workflow_id = $1`
)

// DrainInbox takes up to limit rows of a lane, oldest first, that are due and that nobody else works on, and settles each as
// settle says (one answer a row, in their order). It gives how many it took. The rows are locked until settle returns, which
// must therefore be soon; should the process die meanwhile, they are as they were.
func (s *Store) DrainInbox(
	ctx context.Context, lane event.Lane, limit int, settle func(context.Context, []event.Waiting) []event.Settled,
) (n int, err error) {
	n, err = s.drainInbox(ctx, lane, limit, settle)
	return n, failure("drain the inbox", err)
}

func (s *Store) drainInbox(
	ctx context.Context, lane event.Lane, limit int, settle func(context.Context, []event.Waiting) []event.Settled,
) (int, error) {
	var rows []event.Waiting
	b := &pgx.Batch{}
	b.Queue(claimInbox, string(lane), limit).Query(func(found pgx.Rows) (err error) {
		rows, err = pgx.CollectRows(found, scanWaiting)
		return err
	})
	tx, err := s.begin(ctx, b)
	if err != nil {
		return 0, err
	}
	defer tx.rollback(ctx)
	if len(rows) == 0 {
		return 0, nil
	}
	return len(rows), tx.settle(ctx, rows, settle(ctx, rows))
}

func (t *transaction) settle(ctx context.Context, rows []event.Waiting, settled []event.Settled) error {
	var gone []string
	b := &pgx.Batch{}
	for i, row := range rows {
		id := clean(row.Receipt.WorkflowID())
		switch s := settled[i]; {
		case s.Started:
			gone = append(gone, id)
		case s.Dead != nil:
			if err := t.bury(ctx, row, *s.Dead); err != nil {
				return err
			}
			gone = append(gone, id)
		case s.Error != "":
			b.Queue(postponeInbox, id, clip(clean(s.Error), maxMessage), s.Retry)
		}
	}
	if len(gone) > 0 {
		b.Queue(deleteInbox, gone)
	}
	return t.commit(ctx, b)
}

// bury opens a dead letter for an event that had no run. It claims the key first, as no run has: should another event own it,
// this one is its duplicate.
func (t *transaction) bury(ctx context.Context, row event.Waiting, f event.Failure) error {
	r := row.Receipt
	var owner string
	var stored bool
	b := &pgx.Batch{}
	b.Queue(eventLock, r.ID)
	queueClaim(b, r)
	queueOwner(b, r, &owner, &stored)
	if err := t.send(ctx, b); err != nil {
		return err
	}
	if owner != r.ID {
		return nil
	}
	letter := &pgx.Batch{}
	if err := queueDeadLetter(letter, event.DeadLetter{
		Receipt: r, Body: row.Body, Failure: f, Run: event.Run{WorkflowID: r.WorkflowID()},
	}); err != nil {
		return err
	}
	return t.send(ctx, letter)
}

func scanWaiting(row pgx.CollectableRow) (w event.Waiting, err error) {
	var receipt []byte
	if err := row.Scan(&w.Seq, &w.Lane, &receipt, &w.Reject, &w.Attempts, &w.LastError, &w.DueAt, &w.Body); err != nil {
		return w, err
	}
	if err := json.Unmarshal(receipt, &w.Receipt); err != nil {
		return w, fmt.Errorf("decode receipt: %w", err)
	}
	w.DueAt = w.DueAt.UTC()
	return w, nil
}

// countInbox is exact.
const countInbox = `
SELECT lane, count(*), (SELECT received_at FROM inbox AS first WHERE first.lane = i.lane ORDER BY seq LIMIT 1)
  FROM inbox AS i GROUP BY lane`

// InboxDepth counts what waits in the inbox.
func (s *Store) InboxDepth(ctx context.Context) (event.InboxDepth, error) {
	depths := event.InboxDepth{}
	var lane event.Lane
	var n int64
	var oldest time.Time
	_, err := pgx.ForEachRow(s.query(ctx, countInbox), []any{&lane, &n, &oldest}, func() error {
		depths[lane] = event.LaneDepth{Depth: n, Oldest: oldest.UTC()}
		return nil
	})
	return depths, failure("count the inbox", err)
}
