package persistence

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

const (
	// whereExpunged is everything that knows the event, whichever of its rows are still there.
	whereExpunged = `
SELECT receipt, workflow_id FROM events WHERE id = $1::uuid
 UNION ALL
SELECT receipt, workflow_id FROM dead_letters WHERE event_id = $1::uuid`

	whereWaiting = `SELECT receipt, workflow_id FROM inbox WHERE event_id = $1::uuid`

	latestOfWorkflow = `
SELECT coalesce((SELECT max(id::text) FROM (
       SELECT id FROM events WHERE workflow_id = $1
        UNION ALL
       SELECT event_id FROM dead_letters WHERE workflow_id = $1
        UNION ALL
       SELECT event_id FROM inbox WHERE workflow_id = $1
        UNION ALL
       SELECT event_id FROM idempotency_keys WHERE provider = $2 AND key = $3) AS known), '')`

	// No index serves it, since nothing else asks: it reads the table once, for an event whose rows were purged.
	keysOfEvent = `SELECT provider, key FROM idempotency_keys WHERE event_id = $1::uuid`

	providerOfLinks = `SELECT coalesce(min(provider), '') FROM event_entities WHERE event_id = $1::uuid`

	expungeEvent       = `DELETE FROM events WHERE id = $1::uuid`
	expungeDeadLetters = `DELETE FROM dead_letters WHERE event_id = $1::uuid`
	expungeErrors      = `DELETE FROM error_log WHERE event_id = $1::uuid`
	expungeWaiting     = `DELETE FROM inbox WHERE event_id = $1::uuid`

	// keepKey makes sure that a redelivery stays a duplicate, also of an event that had died before it owned its key.
	keepKey = `
INSERT INTO idempotency_keys (provider, key, event_id, first_seen, expires_at)
VALUES ($1, $2, $3, $4, CASE WHEN $5::interval > interval '0' THEN $4::timestamptz + $5::interval END)
    ON CONFLICT DO NOTHING`
)

// WorkflowsOf are the workflows that have run an event. Event.ErrNotFound: nothing is known of it.
func (s *Store) WorkflowsOf(ctx context.Context, id string) ([]string, error) {
	const doing = "read workflows of event"
	traces, err := pgx.CollectRows(s.query(ctx, whereExpunged, id), scanTrace)
	if err != nil {
		return nil, failure(doing, err)
	}
	waiting, err := pgx.CollectRows(s.query(ctx, whereWaiting, id), scanTrace)
	if err != nil {
		return nil, failure(doing, err)
	}
	var ids []string
	for _, t := range append(traces, waiting...) {
		if !slices.Contains(ids, t.workflowID) {
			ids = append(ids, t.workflowID)
		}
	}
	if len(ids) == 0 {
		ids, err = s.workflowsOfKeys(ctx, id)
	}
	if err == nil && len(ids) == 0 {
		err = event.ErrNotFound
	}
	return ids, failure(doing, err)
}

func (s *Store) workflowsOfKeys(ctx context.Context, id string) (ids []string, err error) {
	var provider, key string
	_, err = pgx.ForEachRow(s.query(ctx, keysOfEvent, id), []any{&provider, &key}, func() error {
		ids = append(ids, event.WorkflowID(provider, key))
		return nil
	})
	return ids, err
}

// EventOfWorkflow is the ID of the latest event that a workflow has run: stored, dead, or purged but for its key.
// Event.ErrNotFound: there is none.
func (s *Store) EventOfWorkflow(ctx context.Context, workflowID string) (id string, err error) {
	provider, key, _ := event.SplitWorkflowID(clean(workflowID))
	err = s.pool.QueryRow(ctx, latestOfWorkflow, clean(workflowID), provider, key).Scan(&id)
	if err == nil && id == "" {
		err = event.ErrNotFound
	}
	return id, failure("read event of workflow "+clean(workflowID), err)
}

// query is Query for CollectRows, which reports the error that the rows carry.
func (s *Store) query(ctx context.Context, sql string, args ...any) pgx.Rows {
	rows, _ := s.pool.Query(ctx, sql, args...)
	return rows
}

// trace is a row that knows an event. The run of a batch is that of many events and holds the content of none, so the workflow
// is the one that the event, or a redelivery, would have had alone.
type trace struct {
	receipt    event.Receipt
	workflowID string
}

func scanTrace(row pgx.CollectableRow) (t trace, err error) {
	var receipt []byte
	if err := row.Scan(&receipt, &t.workflowID); err != nil {
		return t, err
	}
	if err := json.Unmarshal(receipt, &t.receipt); err != nil {
		return t, err
	}
	if event.IsBatchWorkflow(t.workflowID) {
		t.workflowID = t.receipt.WorkflowID()
	}
	return t, nil
}

// Expunge removes the content of one event everywhere: its row, its dead letters, its entries in the error log, and what it
// did to entities, which are folded again as if it had never been. What stays is its key, so that a redelivery is a
// duplicate, and an audit row. It must not be processed meanwhile: a step that runs would write the event again.
func (s *Store) Expunge(ctx context.Context, id string, by event.Actor) (event.Expunged, error) {
	e, err := s.expunge(ctx, id, by)
	return e, failure("expunge event "+clean(id), err)
}

func (s *Store) expunge(ctx context.Context, id string, by event.Actor) (e event.Expunged, err error) {
	var (
		traces []trace
		b      = &pgx.Batch{}
	)
	e.EventID = id
	collect := func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, scanTrace)
		traces = append(traces, found...)
		return err
	}
	b.Queue(whereWaiting+" FOR UPDATE", id).Query(collect) // before the event's lock, as the drain does
	b.Queue(eventLock, id)
	b.Queue(whereExpunged, id).Query(collect)
	b.Queue(providerOfLinks, id).QueryRow(func(row pgx.Row) error { return row.Scan(&e.Provider) })
	tx, err := s.begin(ctx, b)
	if err != nil {
		return e, err
	}
	defer tx.rollback(ctx)
	if len(traces) == 0 && e.Provider == "" {
		return e, event.ErrNotFound
	}
	for _, t := range traces {
		e.Provider = t.receipt.Provider
		if !slices.Contains(e.WorkflowIDs, t.workflowID) {
			e.WorkflowIDs = append(e.WorkflowIDs, t.workflowID)
		}
	}
	refolded, err := tx.takeBack(ctx, &e)
	if err != nil {
		return e, err
	}
	err = tx.finishExpunge(ctx, &e, traces, refolded, by)
	return e, err
}

// takeBack removes the changes of the event, and gives the entities without them.
func (t *transaction) takeBack(ctx context.Context, e *event.Expunged) ([]event.Entity, error) {
	var locked []lockedEntity
	b := &pgx.Batch{}
	queueLock(b, event.Receipt{ID: e.EventID, Provider: e.Provider}, nil, &locked)
	b.Queue(deleteLinks, e.EventID).Exec(countInto(&e.Changes))
	if err := t.send(ctx, b); err != nil {
		return nil, err
	}
	refs := make([]event.EntityRef, len(locked))
	for i, l := range locked {
		refs[i] = l.EntityRef
	}
	e.Entities = len(refs)
	return t.refold(ctx, clean(e.Provider), refs)
}

func (t *transaction) finishExpunge(
	ctx context.Context, e *event.Expunged, traces []trace, refolded []event.Entity, by event.Actor,
) error {
	b := &pgx.Batch{}
	queueEntities(b, clean(e.Provider), refolded)
	for _, known := range traces {
		r := known.receipt
		b.Queue(keepKey, clean(r.Provider), clean(r.Key), e.EventID, r.ReceivedAt, time.Duration(r.DedupeWindow))
	}
	b.Queue(expungeEvent, e.EventID).Exec(countInto(&e.Events))
	b.Queue(expungeDeadLetters, e.EventID).Exec(countInto(&e.DeadLetters))
	b.Queue(expungeErrors, e.EventID).Exec(countInto(&e.Errors))
	b.Queue(expungeWaiting, e.EventID).Exec(countInto(&e.Waiting))
	detail, err := json.Marshal(event.Expunged{
		EventID: e.EventID, Provider: e.Provider, WorkflowIDs: e.WorkflowIDs, Entities: e.Entities, Changes: e.Changes,
	})
	if err != nil {
		return err
	}
	queueAudit(b, by.Did("event.expunge", "event:"+e.EventID, detail))
	return t.commit(ctx, b)
}
