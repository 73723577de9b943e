package inbox

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/deadletters"
	"holdfast/persistence/postgres"
	"holdfast/persistence/writer"
)

const (
	// ownerToPart gives the key of a whole event to the part that has the same one.
	ownerToPart = `
UPDATE idempotency_keys SET event_id = $3::uuid, fingerprint = nullif($4, '')
 WHERE provider = $1 AND key = $2 AND event_id = $5::uuid`

	// removeWhole removes the whole event, which needs no run any more.
	removeWhole = `DELETE FROM inbox WHERE workflow_id = $1 AND event_id = $2::uuid`
)

// Split replaces an event by those that it is split into, in one transaction: they are put into the inbox like the events of a
// request, the whole one is decided as replaced, what it did to entities is undone, and its dead letter is closed. Split returns
// an *event.DecisionError with that decision. ok is false, and nothing has changed, if the whole event doesn't go on: an operator
// has decided about it, it is a duplicate, or only an operator may accept it. An event that is processed stays so.
func (s *Store) Split(
	ctx context.Context, whole event.Receipt, run event.Run, parts []event.Received,
) (p event.Persisted, ok bool, err error) {
	defer postgres.Annotate(&err, "split event "+postgres.Clean(whole.ID))
	claim, b := writer.NewClaim(whole), &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	claim.Queue(b)
	tx, err := s.db.Begin(ctx, b)
	if err != nil {
		return p, false, err
	}
	defer tx.Rollback(ctx)
	owns, status, err := claim.Owns()
	if err != nil || !owns {
		return p, false, err
	}
	if status == event.StatusProcessed {
		return event.Persisted{Processed: true}, true, nil
	}
	decision, err := s.split(ctx, tx, whole, run, parts)
	if err != nil {
		return p, false, err
	}
	return p, true, &event.DecisionError{Decision: decision}
}

func (s *Store) split(
	ctx context.Context, t *postgres.Transaction, whole event.Receipt, run event.Run, parts []event.Received,
) (event.Decision, error) {
	by := oversight.Actor{Name: event.Splitter, Reason: event.SplitReason(len(parts))}
	decision := writer.DecisionBy(by, whole.ID, event.OutcomeReplaced)
	decision.ReplacedBy = parts[0].ID
	if _, err := writer.Decide(ctx, s.writer, t, decision, whole); err != nil {
		return decision, err
	}
	b := &pgx.Batch{}
	queuePassedKey(b, whole, parts)
	deadletters.QueueReplaced(b, decision)
	writer.QueueRemovalOfCopies(b, whole)
	b.Queue(removeWhole, postgres.Clean(whole.WorkflowID()), whole.ID)
	if err := t.Send(ctx, b); err != nil {
		return decision, err
	}
	if err := insertParts(ctx, t, parts); err != nil {
		return decision, err
	}
	b = &pgx.Batch{}
	audit.Queue(b, by.Did(oversight.AuditSplit, "event:"+whole.ID, audit.DetailOf(map[string]any{
		"events": len(parts), "first": decision.ReplacedBy, "request_id": postgres.Clean(whole.RequestID), "run_id": run.RunID,
	})))
	return decision, t.Commit(ctx, b)
}

// queuePassedKey gives the key of the whole event to a part that has it, too: the keys of two definitions may be the same.
func queuePassedKey(b *pgx.Batch, whole event.Receipt, parts []event.Received) {
	for _, part := range parts {
		if r := part.Receipt; r.Key == whole.Key {
			b.Queue(ownerToPart, postgres.Clean(r.Provider), postgres.Clean(r.Key), r.ID, postgres.Clean(r.Fingerprint), whole.ID)
			return
		}
	}
}

// insertParts puts the events into the inbox, a group at a time.
func insertParts(ctx context.Context, t *postgres.Transaction, parts []event.Received) error {
	rows, err := rowsOfParts(parts)
	for len(rows) > 0 && err == nil {
		n, size := 0, 0
		for n < len(rows) && (n == 0 || n < maxGroupRows && size+rows[n].size() <= maxGroupBytes) {
			size += rows[n].size()
			n++
		}
		err = insertGroupOfParts(ctx, t, rows[:n])
		rows = rows[n:]
	}
	return err
}

// rowsOfParts returns the rows in the order in which all writers of the inbox insert.
func rowsOfParts(parts []event.Received) ([]*inboxRow, error) {
	rows := make([]*inboxRow, len(parts))
	for i, part := range parts {
		r, lane := part.Receipt, laneOf(part)
		if lane == event.LaneLarge {
			r.Large = event.NewLargeBody(r.ID, part.Body)
		}
		var err error
		if rows[i], err = newInboxRow(lane, r, part.Body, part.RejectRedelivery); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(rows, func(a, b *inboxRow) int { return strings.Compare(a.workflowID, b.workflowID) })
	return rows, nil
}

// laneOf returns the lane in which the ingress would put the event if Temporal were down. An event that must be in both stores
// stays as a copy until it is stored.
func laneOf(part event.Received) event.Lane {
	switch {
	case len(part.Body) > event.MaxInline:
		return event.LaneLarge
	case part.Copied:
		return event.LaneCopy
	case part.Bulk:
		return event.LaneBulk
	default:
		return event.LaneOverflow
	}
}

func insertGroupOfParts(ctx context.Context, t *postgres.Transaction, rows []*inboxRow) error {
	b := &pgx.Batch{}
	var ordinary []*inboxRow
	for _, row := range rows {
		if row.lane == event.LaneLarge {
			r := row.event
			b.Queue(keepLarge, event.LargeRow(r.ID), r.ID, row.provider, row.receipt, row.body, row.reject, r.ReceivedAt, row.delay)
			continue
		}
		ordinary = append(ordinary, row)
	}
	queueInsert(b, ordinary)
	if err := t.Send(ctx, b); err != nil {
		return err
	}
	apart, err := conflictsOf(ctx, t, ordinary)
	if err != nil || len(apart) == 0 {
		return err
	}
	b = &pgx.Batch{}
	queueInsert(b, apart)
	return t.Send(ctx, b)
}

// conflictsOf records the rows whose key another event in the inbox has, with other content, and returns those that must be kept,
// under keys of their own.
func conflictsOf(ctx context.Context, t *postgres.Transaction, rows []*inboxRow) (apart []*inboxRow, err error) {
	b := &pgx.Batch{}
	for _, row := range rows {
		c := row.event.ConflictWith(row.owner, row.fingerprint)
		if row.stored || c == nil {
			continue
		}
		writer.QueueConflict(b, *c)
		if row.event.IsConflict(c) {
			again, err := newInboxRow(row.lane, row.event.WithConflictKey(row.owner), row.body, row.reject)
			if err != nil {
				return nil, err
			}
			apart = append(apart, again)
		}
	}
	if b.Len() == 0 {
		return nil, nil
	}
	return apart, t.Send(ctx, b)
}
