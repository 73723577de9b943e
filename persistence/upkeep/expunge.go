package upkeep

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/event/retention"
	"holdfast/persistence/audit"
	"holdfast/persistence/decisions"
	"holdfast/persistence/entities"
	"holdfast/persistence/fetches"
	"holdfast/persistence/observed"
	"holdfast/persistence/outbox"
	"holdfast/persistence/postgres"
)

const (
	// whereExpunged selects all traces of the event, whichever of its rows still exist.
	whereExpunged = `
SELECT receipt, workflow_id FROM events WHERE id = $1::uuid
 UNION ALL
SELECT receipt, workflow_id FROM dead_letters WHERE event_id = $1::uuid`

	// whereImported selects the staged rows of imports that contain the event.
	whereImported = `SELECT item FROM import_rows WHERE event_id = $1::uuid`

	whereWaiting = `SELECT receipt, workflow_id FROM inbox WHERE event_id = $1::uuid`
	lockWaiting  = whereWaiting + ` FOR UPDATE`

	latestOfWorkflows = `
SELECT w.id, max(known.id::text)
  FROM unnest($1::text[], $2::text[], $3::text[]) AS w (id, provider, key), LATERAL (
       SELECT id FROM events WHERE workflow_id = w.id
        UNION ALL
       SELECT event_id FROM dead_letters WHERE workflow_id = w.id
        UNION ALL
       SELECT event_id FROM inbox WHERE workflow_id = w.id
        UNION ALL
       SELECT event_id FROM idempotency_keys WHERE provider = w.provider AND key = w.key) AS known
 GROUP BY w.id`

	// No index serves this rare query: it scans the table once, for an event whose rows were purged.
	keysOfEvent = `SELECT provider, key FROM idempotency_keys WHERE event_id = $1::uuid`

	providerOfLinks = `SELECT coalesce(min(provider), '') FROM event_entities WHERE event_id = $1::uuid`

	expungeEvent       = `DELETE FROM events WHERE id = $1::uuid`
	expungeDeadLetters = `DELETE FROM dead_letters WHERE event_id = $1::uuid`
	expungeErrors      = `DELETE FROM error_log WHERE event_id = $1::uuid`
	expungeContents    = `DELETE FROM event_contents WHERE event_id = $1::uuid`
	expungeImported    = `DELETE FROM import_rows WHERE event_id = $1::uuid`
	expungeMissed      = `DELETE FROM recovery_items WHERE event_id = $1::uuid`
	expungeWaiting     = `DELETE FROM inbox WHERE event_id = $1::uuid`
)

// WorkflowsOf returns the workflows that have run an event. It returns event.ErrNotFound if the event is unknown.
func (s *Store) WorkflowsOf(ctx context.Context, id string) ([]string, error) {
	const doing = "read workflows of event"
	traces, err := pgx.CollectRows(s.db.Rows(ctx, whereExpunged, id), scanTrace)
	if err != nil {
		return nil, postgres.Failure(doing, err)
	}
	waiting, err := pgx.CollectRows(s.db.Rows(ctx, whereWaiting, id), scanTrace)
	if err != nil {
		return nil, postgres.Failure(doing, err)
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
	return ids, postgres.Failure(doing, err)
}

func (s *Store) workflowsOfKeys(ctx context.Context, id string) (ids []string, err error) {
	var provider, key string
	_, err = pgx.ForEachRow(s.db.Rows(ctx, keysOfEvent, id), []any{&provider, &key}, func() error {
		ids = append(ids, event.WorkflowID(provider, key))
		return nil
	})
	return ids, err
}

// EventOfWorkflow returns the ID of the latest event that a workflow has run: stored, dead, or purged except for its key. It
// returns event.ErrNotFound if there is none.
func (s *Store) EventOfWorkflow(ctx context.Context, workflowID string) (string, error) {
	workflowID = postgres.Clean(workflowID)
	ids, err := s.EventsOfWorkflows(ctx, []string{workflowID})
	if err == nil && ids[workflowID] == "" {
		err = event.ErrNotFound
	}
	return ids[workflowID], postgres.Failure("read event of workflow "+workflowID, err)
}

// EventsOfWorkflows returns the IDs of the latest events that some workflows have run, as EventOfWorkflow does, by workflow ID.
// Workflows that have run none are missing.
func (s *Store) EventsOfWorkflows(ctx context.Context, workflowIDs []string) (map[string]string, error) {
	providers, keys := make([]string, len(workflowIDs)), make([]string, len(workflowIDs))
	for i, id := range workflowIDs {
		providers[i], keys[i], _ = event.SplitWorkflowID(id)
	}
	latest, workflowID, eventID := map[string]string{}, "", ""
	rows := s.db.Rows(ctx, latestOfWorkflows, workflowIDs, providers, keys)
	_, err := pgx.ForEachRow(rows, []any{&workflowID, &eventID}, func() error {
		latest[workflowID] = eventID
		return nil
	})
	return latest, postgres.Failure("read events of workflows", err)
}

// trace is a row that refers to an event. The run of a batch belongs to many events and contains the content of none, so workflow
// is the one that the event, or a redelivery, would have had on its own.
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

func scanImported(row pgx.CollectableRow) (t trace, err error) {
	var encoded []byte
	if err := row.Scan(&encoded); err != nil {
		return t, err
	}
	var item struct{ Receipt event.Receipt }
	if err := json.Unmarshal(encoded, &item); err != nil {
		return t, err
	}
	return trace{receipt: item.Receipt, workflowID: item.Receipt.WorkflowID()}, nil
}

// Expunge removes the content of one event everywhere: its row, its dead letters, its entries in the error log, its rows in
// imports, the responses of destinations, its pending deliveries, and what it did to entities, which are folded again without it.
// It keeps the key, so that a redelivery is a duplicate, the decision, and an audit row that counts what was removed, including
// the runs that the caller has had deleted. It may be repeated, and then returns who expunged the event first.
func (s *Store) Expunge(ctx context.Context, id string, runs int, by oversight.Actor) (retention.Expunged, error) {
	return s.ExpungeWith(ctx, nil, id, runs, by)
}

// ExpungeWith is Expunge with the changes of entities in the archive: see PlanExpunge. They are used only if they are all the
// changes that purges have removed from an entity.
func (s *Store) ExpungeWith(
	ctx context.Context, archived retention.Archived, id string, runs int, by oversight.Actor,
) (retention.Expunged, error) {
	e := retention.Expunged{EventID: id, Runs: runs}
	err := s.expunge(ctx, &e, archived, by, false)
	return e, postgres.Failure("expunge event "+postgres.Clean(id), err)
}

// PlanExpunge returns what an expunge would do, and changes nothing.
func (s *Store) PlanExpunge(ctx context.Context, archived retention.Archived, id string) (retention.Expunged, error) {
	e := retention.Expunged{EventID: id}
	err := s.expunge(ctx, &e, archived, oversight.Actor{}, true)
	return e, postgres.Failure("plan to expunge event "+postgres.Clean(id), err)
}

func (s *Store) expunge(
	ctx context.Context, e *retention.Expunged, archived retention.Archived, by oversight.Actor, isTrial bool,
) error {
	var (
		traces   []trace
		decision *event.Decision
		b        = &pgx.Batch{}
	)
	collect := func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, scanTrace)
		traces = append(traces, found...)
		return err
	}
	b.Queue(lockWaiting, e.EventID).Query(collect) // before the event's lock, like the drain
	b.Queue(postgres.EventLock, e.EventID)
	b.Queue(whereExpunged, e.EventID).Query(collect)
	b.Queue(whereImported, e.EventID).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, scanImported)
		traces = append(traces, found...)
		return err
	})
	b.Queue(providerOfLinks, e.EventID).QueryRow(func(row pgx.Row) error { return row.Scan(&e.Provider) })
	decisions.Queue(b, e.EventID, &decision)
	tx, err := s.db.Begin(ctx, b)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if len(traces) == 0 && e.Provider == "" {
		if err := providerOfKey(ctx, tx, e); err != nil && (decision == nil || !errors.Is(err, event.ErrNotFound)) {
			return err
		}
	}
	if decision != nil && decision.Outcome == event.OutcomeExpunged {
		e.Earlier = decision
	}
	if err := s.expungeKnown(ctx, tx, e, traces, archived, by); err != nil || isTrial {
		return err
	}
	return auditExpunge(ctx, tx, e, by)
}

func (s *Store) expungeKnown(
	ctx context.Context, t *postgres.Transaction, e *retention.Expunged, traces []trace, archived retention.Archived,
	by oversight.Actor,
) error {
	var receipts []event.Receipt
	for _, known := range traces {
		e.Provider = known.receipt.Provider
		receipts = append(receipts, known.receipt)
		if !slices.Contains(e.WorkflowIDs, known.workflowID) {
			e.WorkflowIDs = append(e.WorkflowIDs, known.workflowID)
		}
	}
	decision := decisions.By(by, e.EventID, event.OutcomeExpunged)
	provider := postgres.Clean(e.Provider)
	taken, err := s.decisions.Expunge(ctx, t, decision, provider, entities.Archived(archived), receipts...)
	if err != nil {
		return err
	}
	e.Changes, e.Entities, e.Collapsed = taken.Changes, taken.Entities, taken.Covered
	e.Incomplete, e.Recomputed = taken.Incomplete, taken.Recomputed
	b := &pgx.Batch{}
	b.Queue(observed.Forget, e.EventID) // the next observation is of the other events
	b.Queue(expungeEvent, e.EventID).Exec(postgres.CountInto(&e.Events))
	b.Queue(expungeDeadLetters, e.EventID).Exec(postgres.CountInto(&e.DeadLetters))
	b.Queue(expungeErrors, e.EventID).Exec(postgres.CountInto(&e.Errors))
	b.Queue(expungeContents, e.EventID)
	b.Queue(expungeImported, e.EventID).Exec(postgres.CountInto(&e.ImportLines))
	b.Queue(expungeMissed, e.EventID)
	b.Queue(fetches.Remove, []string{e.EventID})
	b.Queue(expungeWaiting, e.EventID).Exec(postgres.CountInto(&e.Waiting))
	outbox.QueueExpunge(b, e.EventID)
	b.Queue(markFiles, e.EventID).Exec(postgres.CountInto(&e.ArchiveFiles))
	return t.Send(ctx, b)
}

// providerOfKey sets the provider of a purged event from its key. It returns event.ErrNotFound if the event has no key either.
func providerOfKey(ctx context.Context, t *postgres.Transaction, e *retention.Expunged) error {
	b := &pgx.Batch{}
	b.Queue(keysOfEvent, e.EventID).Query(func(rows pgx.Rows) error {
		var key string
		_, err := pgx.ForEachRow(rows, []any{&e.Provider, &key}, func() error { return nil })
		return err
	})
	if err := t.Send(ctx, b); err != nil {
		return err
	}
	if e.Provider == "" {
		return event.ErrNotFound
	}
	return nil
}

func auditExpunge(ctx context.Context, t *postgres.Transaction, e *retention.Expunged, by oversight.Actor) error {
	onRecord := struct { // only counts, since an entity's ID may be personal
		retention.Expunged
		Incomplete int `json:"incomplete,omitempty"`
		Recomputed int `json:"recomputed,omitempty"`
	}{*e, len(e.Incomplete), len(e.Recomputed)}
	onRecord.Collapsed = nil
	detail, err := json.Marshal(onRecord)
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	audit.Queue(b, by.Did(oversight.AuditExpunge, "event:"+e.EventID, detail))
	return t.Commit(ctx, b)
}
