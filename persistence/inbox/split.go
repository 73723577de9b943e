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
	"holdfast/persistence/decisions"
	"holdfast/persistence/duplicates"
	"holdfast/persistence/lanes"
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

	// takeWaiting takes the events that wait for the key of the whole one out of the inbox.
	takeWaiting = `DELETE FROM inbox WHERE workflow_id = $1 RETURNING ` + waitingFields + `raw_body`
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
	decided, err := s.split(ctx, tx, whole, run, parts)
	if err != nil {
		return p, false, err
	}
	return p, true, decided
}

func (s *Store) split(
	ctx context.Context, t *postgres.Transaction, whole event.Receipt, run event.Run, parts []event.Received,
) (*event.DecisionError, error) {
	by := oversight.Actor{Name: event.Splitter, Reason: event.SplitReason(len(parts))}
	decision := decisions.By(by, whole.ID, event.OutcomeReplaced)
	decision.ReplacedBy = parts[0].ID
	if _, err := s.decisions.Decide(ctx, t, decision, whole); err != nil {
		return nil, err
	}
	heir := heirOf(whole, parts)
	waiting, err := s.removeWhole(ctx, t, decision, whole, heir)
	if err != nil {
		return nil, err
	}
	if err := insertParts(ctx, t, parts, waiting); err != nil {
		return nil, err
	}
	b := &pgx.Batch{}
	audit.Queue(b, by.Did(oversight.AuditSplit, "event:"+whole.ID, audit.DetailOf(map[string]any{
		"events": len(parts), "first": decision.ReplacedBy, "request_id": postgres.Clean(whole.RequestID), "run_id": run.RunID,
	})))
	decided := &event.DecisionError{Decision: decision}
	if heir != nil {
		decided.PassedTo = &event.KeyOwner{ID: heir.ID, Fingerprint: heir.Fingerprint}
	}
	return decided, t.Commit(ctx, b)
}

// heirOf returns the part that has the key of the whole event, too: the keys of two definitions may be the same.
func heirOf(whole event.Receipt, parts []event.Received) *event.Receipt {
	for n := range parts {
		if parts[n].Key == whole.Key {
			return &parts[n].Receipt
		}
	}
	return nil
}

// removeWhole closes the dead letter of the whole event, and removes it from the inbox. If a part has its key, it also takes out
// and returns what waits there for the key: the part comes first.
func (s *Store) removeWhole(
	ctx context.Context, t *postgres.Transaction, decision event.Decision, whole event.Receipt, heir *event.Receipt,
) (others []*inboxRow, err error) {
	b := &pgx.Batch{}
	deadletters.QueueReplaced(b, decision)
	lanes.QueueRemovalOfCopies(b, whole)
	b.Queue(removeWhole, postgres.Clean(whole.WorkflowID()), whole.ID)
	if heir == nil {
		return nil, t.Send(ctx, b)
	}
	b.Queue(ownerToPart, postgres.Clean(whole.Provider), postgres.Clean(whole.Key), heir.ID, postgres.Clean(heir.Fingerprint),
		whole.ID)
	var taken []waiting
	b.Queue(takeWaiting, postgres.Clean(whole.WorkflowID())).Query(func(rows pgx.Rows) (err error) {
		taken, err = pgx.CollectRows(rows, scanWaiting)
		return err
	})
	if err := t.Send(ctx, b); err != nil {
		return nil, err
	}
	return othersOf(ctx, t, whole, taken)
}

// othersOf returns the rows of events that aren't the whole one.
func othersOf(
	ctx context.Context, t *postgres.Transaction, whole event.Receipt, taken []waiting,
) (others []*inboxRow, err error) {
	b := &pgx.Batch{}
	for _, w := range taken {
		switch r := w.Receipt; {
		case w.unread != nil:
			if err := buryUnread(ctx, t, w); err != nil {
				return nil, err
			}
		case r.Fingerprint != "" && r.Fingerprint == whole.Fingerprint:
			duplicates.QueueRedeliveries(b, []string{r.ID}, []string{whole.ID})
		default:
			lane := w.Lane
			if lane == event.LaneCopy { // it isn't inserted for an event that is stored
				lane = event.LaneOverflow
			}
			row, err := newInboxRow(lane, r, w.Body, w.RejectRedelivery)
			if err != nil {
				return nil, err
			}
			others = append(others, row)
		}
	}
	return others, t.Send(ctx, b)
}

// insertParts puts the events into the inbox, a group at a time, and behind them those that were taken out for their key.
func insertParts(ctx context.Context, t *postgres.Transaction, parts []event.Received, others []*inboxRow) error {
	rows, err := rowsOfParts(parts, others)
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
func rowsOfParts(parts []event.Received, others []*inboxRow) ([]*inboxRow, error) {
	rows := make([]*inboxRow, len(parts), len(parts)+len(others))
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
	rows = append(rows, others...)
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
	for n := 0; len(ordinary) > 0 && n < maxInserts; n++ {
		queueInsert(b, ordinary)
		if err := t.Send(ctx, b); err != nil {
			return err
		}
		var err error
		if ordinary, err = settleRepeats(ctx, t, ordinary); err != nil {
			return err
		}
		b = &pgx.Batch{}
	}
	if len(ordinary) > 0 {
		return errInboxMoved
	}
	return t.Send(ctx, b)
}

// maxInserts is how often rows are inserted: those that made them redundant may leave the inbox in between, and a conflict is
// inserted under another key.
const maxInserts = 5

var errInboxMoved = &event.Error{
	Class: event.ClassTransient, Code: "inbox_moved", Text: "the inbox changed while the parts of an event were added",
}

// settleRepeats records which rows repeat others in the inbox, or conflict with them. It returns the rows that must be inserted
// again: under keys of their own, or because the others have left the inbox.
func settleRepeats(ctx context.Context, t *postgres.Transaction, rows []*inboxRow) (again []*inboxRow, err error) {
	b := &pgx.Batch{}
	for _, row := range rows {
		if row.stored {
			continue
		}
		c := row.event.ConflictWith(row.owner, row.fingerprint)
		switch {
		case row.owner == "":
			again = append(again, row)
			continue
		case c == nil:
			duplicates.QueueRedeliveries(b, []string{row.event.ID}, []string{row.owner})
			continue
		}
		duplicates.QueueConflict(b, *c)
		if row.event.IsConflict(c) {
			apart, err := newInboxRow(row.lane, row.event.WithConflictKey(row.owner), row.body, row.reject)
			if err != nil {
				return nil, err
			}
			again = append(again, apart)
		}
	}
	return again, t.Send(ctx, b)
}
