package persistence

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// settingsOfPlans make the statements of a transaction be planned once for each connection, and by index alone: they look up few
// rows in tables of any size, and a plan from the time when a table was empty would read all of it later.
const settingsOfPlans = `
       set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
       set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`

// ProcessBatch takes up to limit events of the bulk lane from the inbox, oldest first, and does to each what Persist and
// UpsertEntities do, in one transaction and a fixed number of statements. Whatever fails with an event, and is not the trouble of
// the database, moves it to the overflow lane: it leaves the batch for a workflow of its own, and the others stay. So does an
// event of whose key something is in trouble: a dead letter waits, or the owner is not processed.
//
// It gives what became of each event that it has taken.
func (s *Store) ProcessBatch(
	ctx context.Context, limit int, run event.Run, parse event.Parser,
) ([]event.Batched, error) {
	events, err := s.processBatch(ctx, limit, run, parse)
	return events, failure("process batch", err)
}

func (s *Store) processBatch(
	ctx context.Context, limit int, run event.Run, parse event.Parser,
) (events []event.Batched, err error) {
	var taken []*batched
	first := &pgx.Batch{}
	first.Queue(`SELECT ` + settingsOfPlans)
	queueTake(first, limit, &taken)
	b := &batch{run: run}
	first.Queue(`SELECT clock_timestamp()`).QueryRow(func(row pgx.Row) error { return row.Scan(&b.began) })
	if b.transaction, err = s.begin(ctx, first); err != nil {
		return nil, err
	}
	defer b.rollback(ctx)
	if b.since = time.Now(); len(taken) == 0 {
		return nil, nil
	}
	ready := make([]*batched, 0, len(taken))
	for _, e := range taken {
		if e.prepare(parse); e.Reason == nil {
			ready = append(ready, e)
		}
	}
	if err := b.processTogether(ctx, ready); err != nil {
		return nil, err
	}
	last := &pgx.Batch{}
	queueGone(last, taken)
	if err := b.commit(ctx, last); err != nil {
		return nil, err
	}
	events = make([]event.Batched, len(taken))
	for i, e := range taken {
		events[i] = e.Batched
	}
	return events, nil
}

// batch is the transaction of one batch.
type batch struct {
	*transaction

	run event.Run
	// began is the database's time at our time since.
	began, since time.Time
}

// now is the database's time, as it was asked for once.
func (t *batch) now() time.Time { return t.began.Add(time.Since(t.since)) }

func (t *batch) exec(ctx context.Context, sql string) error {
	_, err := t.conn.Exec(ctx, sql)
	return err
}

// processTogether processes events at one go. Should that fail, and not for the database's own trouble, it halves them until
// the one that fails is alone, and leaves the batch.
func (t *batch) processTogether(ctx context.Context, events []*batched) error {
	if len(events) == 0 {
		return nil
	}
	err := failure("process events", t.processAll(ctx, events))
	if err == nil || event.ClassOf(err) == event.ClassTransient {
		return err
	}
	if err := t.exec(ctx, "rollback to savepoint part"); err != nil {
		return err
	}
	if len(events) == 1 {
		events[0].leave(err)
		return nil
	}
	middle := len(events) / 2
	if err := t.processTogether(ctx, events[:middle]); err != nil {
		return err
	}
	return t.processTogether(ctx, events[middle:])
}

// processAll sets the savepoint, claims the keys, folds the entities and stores the events, which come last so that their time
// is that of the end. Events that turn out to be duplicates, or in trouble, are marked as that.
func (t *batch) processAll(ctx context.Context, events []*batched) error {
	for _, e := range events {
		e.Outcome, e.Reason = outcomeOf(e.parsed), nil // an attempt with more events may have said otherwise
	}
	claimed, err := t.claimAll(ctx, events)
	if err != nil || len(claimed) == 0 {
		return err
	}
	if err := t.copyLinks(ctx, claimed); err != nil {
		return err
	}
	if err := t.foldBatch(ctx, changesOfBatch(claimed)); err != nil {
		return err
	}
	return t.copyEvents(ctx, claimed)
}
