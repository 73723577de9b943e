package inbox

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/deadletters"
	"holdfast/persistence/decisions"
	"holdfast/persistence/postgres"
	"holdfast/persistence/writer"
)

const (
	// claimInbox skips rows claimed by another process. The run of a large event reads its body itself. A body that doesn't fit
	// into the page is null.
	claimInbox = `
SELECT ` + waitingFields + `
       CASE WHEN lane = 'large' THEN '' WHEN ` + postgres.FitsPage + ` THEN raw_body END
  FROM (SELECT *, octet_length(raw_body) AS size FROM inbox WHERE lane = $1 AND due_at <= clock_timestamp()
         ORDER BY seq LIMIT $2 FOR UPDATE SKIP LOCKED) AS claimed
WINDOW page AS (ORDER BY seq)
 ORDER BY seq`

	waitingColumns = `
SELECT ` + waitingFields
	waitingFields = `seq, lane, receipt, workflow_id, event_id::text, provider, received_at, reject, attempts,
       coalesce(last_error, ''), due_at, `

	// Two events of one workflow may be in the inbox, each in its own dedupe window.
	deleteInbox = `DELETE FROM inbox WHERE workflow_id = ANY($1::text[]) AND event_id = ANY($2::uuid[])`

	postponeInbox = `
UPDATE inbox SET attempts = attempts + 1, last_error = $2, due_at = clock_timestamp() + $3::interval
 WHERE workflow_id = $1 AND event_id = $4::uuid`
)

// DrainInbox claims up to limit due rows of a lane, oldest first, that no other process has claimed, and applies settle's
// results (one a row, in the same order). A row whose receipt this version can't read becomes a dead letter, and is not passed
// to settle. The bodies have at most postgres.MaxPageBytes. DrainInbox returns how many rows it claimed, also those whose
// bodies didn't fit: they stay due. The rows are locked until settle returns, so settle must be fast; if the process dies
// meanwhile, they are unchanged.
func (s *Store) DrainInbox(
	ctx context.Context, lane event.Lane, limit int, settle func(context.Context, []event.Waiting) []event.StartOutcome,
) (n int, err error) {
	n, err = s.drainInbox(ctx, lane, limit, settle)
	return n, postgres.Failure("drain the inbox", err)
}

func (s *Store) drainInbox(
	ctx context.Context, lane event.Lane, limit int, settle func(context.Context, []event.Waiting) []event.StartOutcome,
) (int, error) {
	var rows []waiting
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(claimInbox, string(lane), limit).Query(func(found pgx.Rows) (err error) {
		rows, err = pgx.CollectRows(found, scanWaiting)
		return err
	})
	tx, err := s.db.Begin(ctx, b)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback(ctx)
	if len(rows) == 0 {
		return 0, nil
	}
	claimed := len(rows)
	rows = slices.DeleteFunc(rows, func(row waiting) bool { return row.Body == nil })
	var readable []event.Waiting
	for _, row := range rows {
		if row.unread == nil {
			readable = append(readable, row.Waiting)
		}
	}
	var outcomes []event.StartOutcome
	if len(readable) > 0 {
		outcomes = settle(ctx, readable)
	}
	return claimed, settleRows(ctx, tx, rows, outcomes)
}

// settleRows applies the results of the rows that could be read.
func settleRows(ctx context.Context, t *postgres.Transaction, rows []waiting, outcomes []event.StartOutcome) error {
	var gone, goneIDs []string
	leaves := func(row waiting) { gone, goneIDs = append(gone, row.workflowID), append(goneIDs, row.Receipt.ID) }
	b := &pgx.Batch{}
	for _, row := range rows {
		if row.unread != nil && row.Lane == event.LaneLarge { // the row is all there is of its body
			b.Queue(postponeInbox, row.workflowID, row.LastError, maxLargePause, row.eventID)
			continue
		}
		if row.unread != nil {
			if err := buryUnread(ctx, t, row); err != nil {
				return err
			}
			leaves(row)
			continue
		}
		s := outcomes[0]
		outcomes = outcomes[1:]
		switch {
		case s == (event.StartOutcome{}): // it wasn't tried
		case row.Lane == event.LaneLarge:
			if s.Dead != nil {
				if err := bury(ctx, t, row.Waiting, *s.Dead); err != nil {
					return err
				}
			}
			settleLarge(b, row, s)
		case s.Started:
			leaves(row)
		case s.Dead != nil:
			if err := bury(ctx, t, row.Waiting, *s.Dead); err != nil {
				return err
			}
			leaves(row)
		case s.Error != "":
			b.Queue(postponeInbox, row.workflowID, postgres.Clip(postgres.Clean(s.Error), deadletters.MaxMessage), s.Retry, row.Receipt.ID)
		}
	}
	if len(gone) > 0 {
		b.Queue(deleteInbox, gone, goneIDs)
	}
	return t.Commit(ctx, b)
}

// bury opens a dead letter for an event that had no run. If another event owns its key, this one is a duplicate of it, or a
// conflict that is recorded.
func bury(ctx context.Context, t *postgres.Transaction, row event.Waiting, f event.Failure) error {
	err := deadletters.Keep(ctx, t, event.DeadLetter{
		Receipt: row.Receipt, Body: row.Body, Failure: f, Run: event.Run{WorkflowID: row.Receipt.WorkflowID()},
	})
	if writer.IsRefusal(err) {
		return nil
	}
	return err
}

// CountByLane counts exactly.
const CountByLane = `
SELECT lane, count(*), (SELECT received_at FROM inbox AS first WHERE first.lane = i.lane ORDER BY seq LIMIT 1)
  FROM inbox AS i GROUP BY lane`

// InboxDepth counts the events in the inbox.
func (s *Store) InboxDepth(ctx context.Context) (event.InboxDepth, error) {
	depths := event.InboxDepth{}
	var lane event.Lane
	var n int64
	var oldest time.Time
	_, err := pgx.ForEachRow(s.db.Rows(ctx, CountByLane), []any{&lane, &n, &oldest}, func() error {
		depths[lane] = event.LaneDepth{Depth: n, Oldest: oldest}
		return nil
	})
	return depths, postgres.Failure("count the inbox", err)
}

// Store stores events that wait to be started. It is safe for concurrent use.
type Store struct {
	db        *postgres.DB
	decisions *decisions.Store
}

// New makes a Store that stores decisions in d.
func New(db *postgres.DB, d *decisions.Store) *Store { return &Store{db, d} }

// removeFromInbox compares both IDs, since another event of the same key may be in the inbox under the same workflow ID. No event
// ID has two workflows, so the IDs needn't be compared as pairs. Locked rows are skipped: their transaction removes them.
const removeFromInbox = `
DELETE FROM inbox WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM inbox
        WHERE workflow_id = ANY ($1::text[]) AND event_id = ANY ($2::uuid[]) FOR UPDATE SKIP LOCKED))
RETURNING provider`

// RemoveFromInbox removes the events with these IDs, each of the workflow at the same index, since they are committed elsewhere.
// It doesn't wait for locks: rows claimed by a drain stay. It returns the provider of each removed event.
func (s *Store) RemoveFromInbox(ctx context.Context, workflowIDs, eventIDs []string) (providers []string, err error) {
	ids := make([]string, len(workflowIDs))
	for i, id := range workflowIDs {
		ids[i] = postgres.Clean(id)
	}
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(removeFromInbox, ids, eventIDs).Query(postgres.Collect(&providers, pgx.RowTo[string]))
	return providers, postgres.Failure("remove events from the inbox", s.db.SendOnly(ctx, b))
}
