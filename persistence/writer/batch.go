package writer

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/entities"
	"holdfast/persistence/postgres"
)

// ProcessBatch takes up to limit events of the bulk lane from the inbox, oldest first, and does to each what Process does, in one
// transaction. Whatever fails with an event, and is not the trouble of the database, moves it to the overflow lane: it leaves the
// batch for a workflow of its own, and the others stay. So does an event that needs what somebody holds, and one of whose key
// something is in trouble: a dead letter waits, or the owner is not processed.
//
// It gives what became of each event that it has taken.
func (s *Store) ProcessBatch(
	ctx context.Context, limit int, run event.Run, parse event.Parser,
) ([]event.Batched, error) {
	events, err := s.processBatch(ctx, limit, run, parse)
	return events, postgres.Failure("process batch", err)
}

func (s *Store) processBatch(
	ctx context.Context, limit int, run event.Run, parse event.Parser,
) (events []event.Batched, err error) {
	var taken []*batched
	s.subscriptions.Know(ctx)
	t, err := s.beginBatch(ctx, alone, func(b *pgx.Batch) { queueTake(b, limit, &taken) })
	if err != nil {
		return nil, err
	}
	defer t.Rollback(ctx)
	if len(taken) == 0 {
		return nil, nil
	}
	mine := taken[:0:0]
	keys := map[string]bool{}
	for _, e := range taken {
		if keys[e.workflowID] {
			e.stay() // of two windows of one key, the second waits for the next batch
			continue
		}
		keys[e.workflowID] = true
		e.prepare(parse, run)
		if err := s.routeBatched(ctx, e); err != nil {
			return nil, err
		}
		mine = append(mine, e)
	}
	if err := s.processTaken(ctx, t, mine, time.Now().Add(lookFor)); err != nil {
		return nil, err
	}
	for _, e := range taken {
		events = append(events, e.Batched)
	}
	return slices.DeleteFunc(events, func(e event.Batched) bool { return e.Outcome == "" }), nil // it stays
}

// beginBatch opens a transaction that holds rows of the inbox.
func (s *Store) beginBatch(ctx context.Context, p patience, hold func(*pgx.Batch)) (*writing, error) {
	b := &pgx.Batch{}
	queueSettings(b, p)
	hold(b)
	tx, err := s.db.Begin(ctx, b)
	return &writing{Transaction: tx, entities: s.entities, subscriptions: s.subscriptions, foldFor: s.foldFor}, err
}

// lookFor bounds the search for events that keep others waiting. What has not been looked at by then stays for the next batch.
const lookFor = time.Second

// processTaken processes events whose rows t holds, and commits. Where one of them may be the reason that this fails, those that
// somebody holds up leave together, and the others are halved until the one that fails is alone, and leaves. Each part begins
// anew, so that none waits for what another is held up by.
//
// What fails with one that has left already is the trouble of the database, whatever it looks like.
func (s *Store) processTaken(ctx context.Context, t *writing, events []*batched, until time.Time) error {
	stays := slices.ContainsFunc(events, func(e *batched) bool { return e.Reason == nil })
	err := t.processTaken(ctx, events)
	if slow := (*entities.SlowError)(nil); errors.As(err, &slow) {
		t.Rollback(ctx)
		leaveLate(events, slow)
		return s.processAgain(ctx, events, until)
	}
	if err == nil || !stays || !isOfOne(err) {
		return err
	}
	t.Rollback(ctx)
	if isRace(err) && time.Now().Before(until) {
		return s.processAgain(ctx, events, until) // what others have made meanwhile is there now
	}
	why := postgres.Failure("process event", err)
	if postgres.IsLockTrouble(err) {
		found, err := s.leaveHeldUp(ctx, events, why)
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

// leaveLate takes the events out of the batch that come so late that their entities take long to fold.
func leaveLate(events []*batched, slow *entities.SlowError) {
	for _, e := range events {
		if e.Reason == nil && slow.IsOf(e.write.receipt.ID) {
			e.leave(postgres.Failure("process event", slow))
		}
	}
}

// leaveHeldUp takes the events out of the batch that somebody holds up.
func (s *Store) leaveHeldUp(ctx context.Context, events []*batched, why error) (found bool, err error) {
	heldUp, err := s.heldUp(ctx, writesOf(events))
	for _, e := range events {
		if e.write != nil && heldUp[e.write] {
			e.leave(why)
			found = true
		}
	}
	return found, err
}

// patienceFor is short while an event is looked for that others wait for.
func patienceFor(events []*batched) patience {
	if len(events) == 1 {
		return alone
	}
	return inCompany
}

// processAgain takes events once more, but for those that another batch has taken since.
func (s *Store) processAgain(ctx context.Context, events []*batched, until time.Time) error {
	held := map[string]bool{}
	t, err := s.beginBatch(ctx, patienceFor(events), func(b *pgx.Batch) { queueHold(b, events, held) })
	if err != nil {
		return err
	}
	defer t.Rollback(ctx)
	var mine []*batched
	for _, e := range events {
		if held[e.Receipt.ID] {
			mine = append(mine, e)
		} else {
			e.stay()
		}
	}
	return s.processTaken(ctx, t, mine, until)
}

// writesOf are those of the events that are still in the batch.
func writesOf(events []*batched) (ws []*write) {
	for _, e := range events {
		if e.Reason == nil {
			ws = append(ws, e.write)
		}
	}
	return ws
}

func (t *writing) processTaken(ctx context.Context, events []*batched) error {
	t.events, t.held = writesOf(events), map[event.EntityRef]*entities.Life{}
	if len(t.events) > 0 {
		b := &pgx.Batch{}
		t.queueLook(b)
		if err := t.Send(ctx, b); err != nil {
			return err
		}
	}
	return t.finish(ctx, func(b *pgx.Batch) { queueGone(b, events) })
}
