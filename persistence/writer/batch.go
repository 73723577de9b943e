package writer

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/entities"
	"holdfast/persistence/lanes"
	"holdfast/persistence/postgres"
)

// ProcessBatch claims up to limit events of the bulk lane from the inbox, oldest first, and does what Process does for each of
// them, all in one transaction. An event that fails, unless the database itself is failing, moves to the overflow lane: it leaves
// the batch and gets a workflow of its own, while the others stay. So do events that need a row locked by another transaction,
// and events whose key has an open dead letter or an unprocessed owner.
//
// It returns the outcome of each claimed event.
func (s *Store) ProcessBatch(
	ctx context.Context, limit int, run event.Run, parse event.Parser,
) (events []event.Batched, err error) {
	defer postgres.Annotate(&err, "process batch")
	var taken []*batched
	s.subscriptions.EnsureLoaded(ctx)
	t, err := s.beginBatch(ctx, alone, func(b *pgx.Batch) {
		lanes.QueueClaim(b, limit, func(r lanes.Row) {
			taken = append(taken, &batched{Batched: event.Batched{Receipt: r.Receipt}, row: r})
		})
	})
	if err != nil {
		return nil, err
	}
	defer t.Rollback(ctx)
	if len(taken) == 0 {
		return nil, nil
	}
	mine := taken[:0:0]
	keys := map[string]bool{}
	isSpent := s.subscriptions.FilterBudget(len(taken))
	for _, e := range taken {
		if keys[e.row.WorkflowID] {
			e.stay() // when two dedupe windows of one key meet, the second event waits for the next batch
			continue
		}
		keys[e.row.WorkflowID] = true
		e.prepare(parse, run, s.pageSize)
		if e.sharesKey(keys) {
			e.stay()
			continue
		}
		if e.Outcome != event.OutcomeLeft {
			if err := s.route(ctx, e.write, isSpent); err != nil {
				return nil, err
			}
		}
		mine = append(mine, e)
	}
	if err := s.processClaimed(ctx, t, mine, time.Now().Add(searchTime)); err != nil {
		return nil, err
	}
	for _, e := range taken {
		events = append(events, e.Batched)
	}
	return slices.DeleteFunc(events, func(e event.Batched) bool { return e.Outcome == "" }), nil // it stays in the inbox
}

// beginBatch opens a transaction that holds rows of the inbox.
func (s *Store) beginBatch(ctx context.Context, p timeouts, hold func(*pgx.Batch)) (*transaction, error) {
	b := &pgx.Batch{}
	queueSettings(b, p)
	hold(b)
	tx, err := s.db.Begin(ctx, b)
	return &transaction{
		Transaction: tx, entities: s.entities, subscriptions: s.subscriptions, foldFor: s.foldFor, pageSize: s.pageSize,
	}, err
}

// searchTime bounds the search for events that block others. Events not checked by then stay for the next batch.
const searchTime = time.Second

// processClaimed processes events whose rows t holds, and commits. If the failure may be the fault of one event, the events
// blocked by other transactions leave together, and the rest are halved until the failing event is alone, and leaves. Each
// half starts a new transaction, so that no event waits for a lock that another one needs.
//
// A failure with a single event that has already left the batch is the database's, whatever it looks like.
func (s *Store) processClaimed(ctx context.Context, t *transaction, events []*batched, until time.Time) error {
	stays := slices.ContainsFunc(events, func(e *batched) bool { return e.Reason == nil })
	err := t.processClaimed(ctx, events)
	if slow := (*entities.SlowError)(nil); errors.As(err, &slow) {
		t.Rollback(ctx)
		leaveSlow(events, slow)
		return s.processAgain(ctx, events, until)
	}
	if err == nil || !stays || !isOfOne(err) {
		return err
	}
	t.Rollback(ctx)
	if isRace(err) && time.Now().Before(until) {
		return s.processAgain(ctx, events, until) // rows inserted by others meanwhile are visible now
	}
	why := postgres.Failure("process event", err)
	if postgres.IsLockFailure(err) {
		found, err := s.leaveBlocked(ctx, events, why)
		if err != nil {
			return err
		}
		if found {
			return s.processAgain(ctx, events, until)
		}
	}
	if len(events) == 1 {
		events[0].leave(why)
		return s.processAgain(ctx, events, until)
	}
	middle := len(events) / 2
	if err := s.processAgain(ctx, events[:middle], until); err != nil {
		return err
	}
	if time.Now().After(until) {
		for _, e := range events[middle:] {
			e.stay()
		}
		return nil
	}
	return s.processAgain(ctx, events[middle:], until)
}

// leaveSlow removes the events that are so far out of order that their entities fold slowly.
func leaveSlow(events []*batched, slow *entities.SlowError) {
	for _, e := range events {
		if e.Reason == nil && slow.IsOf(e.write.receipt.ID) {
			e.leave(postgres.Failure("process event", slow))
		}
	}
}

// leaveBlocked removes the events that are blocked by other transactions.
func (s *Store) leaveBlocked(ctx context.Context, events []*batched, why error) (found bool, err error) {
	blocked, err := s.blocked(ctx, writesOf(events))
	for _, e := range events {
		if e.write != nil && blocked[e.write] {
			e.leave(why)
			found = true
		}
	}
	return found, err
}

// timeoutsFor returns a short lock timeout while searching for an event that blocks others.
func timeoutsFor(events []*batched) timeouts {
	if len(events) == 1 {
		return alone
	}
	return groupTimeouts
}

// processAgain processes events again, except those claimed by another batch meanwhile.
func (s *Store) processAgain(ctx context.Context, events []*batched, until time.Time) error {
	held := map[string]string{}
	t, err := s.beginBatch(ctx, timeoutsFor(events), func(b *pgx.Batch) {
		lanes.QueueLock(b, postgres.Column(events, func(e *batched) lanes.Row { return e.row }), held)
	})
	if err != nil {
		return err
	}
	defer t.Rollback(ctx)
	var mine []*batched
	for _, e := range events {
		if place, ok := held[e.Receipt.ID]; ok {
			e.row.Place = place
			mine = append(mine, e)
		} else {
			e.stay()
		}
	}
	return s.processClaimed(ctx, t, mine, until)
}

// writesOf returns the writes of the events that are still in the batch.
func writesOf(events []*batched) (ws []*eventWrite) {
	for _, e := range events {
		if e.Reason == nil {
			ws = append(ws, e.write)
		}
	}
	return ws
}

func (t *transaction) processClaimed(ctx context.Context, events []*batched) error {
	t.events, t.locked = writesOf(events), map[event.EntityRef]*entities.Life{}
	if len(t.events) > 0 {
		b := &pgx.Batch{}
		t.queueReads(b, timeouts{})
		if err := t.Send(ctx, b); err != nil {
			return err
		}
	}
	return t.finish(ctx, func(b *pgx.Batch) { queueRemoval(b, events) })
}
