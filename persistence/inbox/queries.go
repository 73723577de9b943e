package inbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

const (
	waitingWithBody    = waitingColumns + `raw_body FROM inbox`
	waitingWithoutBody = waitingColumns + `''::bytea FROM inbox`

	waitingOfWorkflow = waitingWithBody + ` WHERE workflow_id = $1 ORDER BY seq LIMIT 1`

	// largeOfWorkflow narrows the lane, whose rows have workflow IDs of their own, to receipts that contain the key.
	largeOfWorkflow = waitingWithoutBody + `
 WHERE lane = 'large' AND provider = $1 AND position($2::bytea IN receipt) > 0 ORDER BY seq`

	// bulkSpan skips claimed rows. A batch skips the row that it locks itself, so it ends without waiting for the disk: its last
	// column is postgres.CommitAsync.
	bulkSpan = `
SELECT coalesce((SELECT seq FROM inbox WHERE lane = 'bulk' ORDER BY seq LIMIT 1 FOR KEY SHARE SKIP LOCKED), 0),
       coalesce((SELECT max(seq) FROM inbox WHERE lane = 'bulk'), 0),
       set_config('synchronous_commit', 'off', true)`

	// No index serves this query: it scans the inbox, which is small or soon will be.
	waitingOfEvent = waitingWithBody + ` WHERE event_id = $1::uuid`
)

// Inbox returns a page of the inbox, without bodies.
func (s *Store) Inbox(ctx context.Context, q event.InboxQuery) ([]event.Waiting, error) {
	l := postgres.NewList(waitingWithoutBody)
	l.Equal("lane", string(q.Lane))
	l.Equal("provider", q.Provider)
	if q.Source != "" {
		l.Where("position(%s::bytea IN receipt) > 0", sourceInReceipt(q.Provider, q.Source))
	}
	if q.After > 0 {
		l.Where("seq > %s", q.After)
	}
	sql, args := l.Page("seq", q.Limit)
	rows, err := pgx.CollectRows(s.db.Rows(ctx, sql, args...), scanWaiting)
	page := make([]event.Waiting, len(rows))
	for i, row := range rows {
		page[i] = row.Waiting
	}
	return page, postgres.Failure("list the inbox", err)
}

// sourceInReceipt returns bytes that only receipts of the source contain: quotes in names and values are escaped, and the source
// follows the provider.
func sourceInReceipt(provider, source string) []byte {
	text, _ := json.Marshal(struct { //nolint:errchkjson // strings can always be encoded
		Provider string `json:"provider"`
		Source   string `json:"source"`
	}{provider, source})
	return bytes.Trim(text, "{}")
}

// WaitingByWorkflow returns the first event of a workflow that is in the inbox, without the body of a large one. It returns
// event.ErrNotFound if there is none.
func (s *Store) WaitingByWorkflow(ctx context.Context, workflowID string) (event.Waiting, error) {
	w, err := pgx.CollectExactlyOneRow(s.db.Rows(ctx, waitingOfWorkflow, postgres.Clean(workflowID)), scanWaiting)
	if errors.Is(err, pgx.ErrNoRows) {
		w, err = s.largeOfWorkflow(ctx, workflowID)
	}
	return w.Waiting, postgres.Failure("read waiting event of workflow "+postgres.Clean(workflowID), err)
}

func (s *Store) largeOfWorkflow(ctx context.Context, workflowID string) (w waiting, err error) {
	provider, key, ok := event.SplitWorkflowID(workflowID)
	if !ok {
		return w, pgx.ErrNoRows
	}
	quoted, err := json.Marshal(key)
	if err != nil {
		return w, err
	}
	field := append([]byte(`"key":`), quoted...)
	rows, err := pgx.CollectRows(s.db.Rows(ctx, largeOfWorkflow, postgres.Clean(provider), field), scanWaiting)
	for _, row := range rows {
		if row.Receipt.WorkflowID() == workflowID {
			return row, nil
		}
	}
	return w, cmp.Or(err, pgx.ErrNoRows)
}

// WaitingEvent returns an event that is in the inbox. It returns event.ErrNotFound if the inbox doesn't have it.
func (s *Store) WaitingEvent(ctx context.Context, id string) (event.Waiting, error) {
	w, err := pgx.CollectExactlyOneRow(s.db.Rows(ctx, waitingOfEvent, id), scanWaiting)
	return w.Waiting, postgres.Failure("read waiting event "+postgres.Clean(id), err)
}

// BulkPositions returns the positions in the bulk lane of the oldest unclaimed event (0 if there is none) and of the newest.
func (s *Store) BulkPositions(ctx context.Context) (oldest, newest int64, err error) {
	err = s.db.QueryRow(ctx, bulkSpan).Scan(&oldest, &newest, nil)
	return oldest, newest, postgres.Failure("read the span of the bulk lane", err)
}
