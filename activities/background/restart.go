package background

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"holdfast/event"
	"holdfast/event/operation"
)

// restart starts the runs of dead letters that its owner has claimed, at a rate. Those that an outage keeps from starting stay
// claimed for the next attempt.
type restart struct {
	starter RunStarter
	store   ClaimStore
	owner   string
	pace    *pace

	mu      sync.Mutex
	started map[int64]string
	skipped []int64
	errs    []error
}

func (a *Activities) newRestart(owner string, rate float64) *restart {
	return &restart{starter: a.Starter, store: a.Claims, owner: owner, pace: newPace(rate)}
}

// all starts the runs of a chunk and stores the results.
func (r *restart) all(ctx context.Context, letters []event.DeadLetter, start func(context.Context, event.DeadLetter)) error {
	r.started, r.skipped, r.errs = map[int64]string{}, nil, nil
	var starting sync.WaitGroup
	for _, d := range letters {
		starting.Go(func() { start(ctx, d) })
		if r.pace.wait(ctx) != nil {
			break
		}
	}
	starting.Wait()
	r.errs = append(r.errs, r.store.MarkStarted(ctx, r.owner, r.started), r.store.Release(ctx, r.owner, r.skipped...), ctx.Err())
	return errors.Join(r.errs...)
}

// fresh starts the runs of dead letters that were just claimed.
func (r *restart) fresh(ctx context.Context, letters []event.DeadLetter) error {
	return r.all(ctx, letters, r.start)
}

// leftovers starts the runs of dead letters that an earlier attempt has claimed. It may have been killed after the start, and
// that run may even have failed since: any run of the event after the failure in the dead letter is the run.
func (r *restart) leftovers(ctx context.Context) error {
	for {
		letters, err := r.store.Unstarted(ctx, r.owner, chunk)
		if err != nil || len(letters) == 0 {
			return err
		}
		if err := r.all(ctx, letters, r.startUnlessStarted); err != nil {
			return err
		}
	}
}

func (r *restart) startUnlessStarted(ctx context.Context, d event.DeadLetter) {
	if d.SubscriptionID != 0 { // sending twice is idempotent
		r.start(ctx, d)
		return
	}
	latest, err := r.starter.LatestRun(ctx, d.Receipt.WorkflowID())
	switch {
	case err != nil:
		r.keep(func() { r.errs = append(r.errs, err) })
	case latest.EventID == d.Receipt.ID && latest.Run.RunID != d.Run.RunID:
		r.keep(func() { r.started[d.ID] = latest.Run.RunID })
	default:
		r.start(ctx, d)
	}
}

func (r *restart) start(ctx context.Context, d event.DeadLetter) {
	if d.SubscriptionID != 0 {
		r.redeliver(ctx, d)
		return
	}
	started, err := r.starter.ReplayInBulk(ctx, d)
	run, ok := operation.RunAfter(started, err)
	var exists *operation.RunExistsError
	switch {
	case ok:
		r.keep(func() { r.started[d.ID] = run.RunID })
	case errors.As(err, &exists) || event.ClassOf(err) == event.ClassRejected:
		r.skip(ctx, d, err)
	default:
		r.keep(func() { r.errs = append(r.errs, err) })
	}
}

// redeliver queues the failed delivery, whose outcome decides the dead letter.
func (r *restart) redeliver(ctx context.Context, d event.DeadLetter) {
	switch err := r.store.Redeliver(ctx, d.Receipt.ID, d.SubscriptionID); {
	case err == nil:
		r.keep(func() { r.started[d.ID] = "" })
	case errors.Is(err, event.ErrNotFound) || event.ClassOf(err) == event.ClassRejected:
		r.skip(ctx, d, err)
	default:
		r.keep(func() { r.errs = append(r.errs, err) })
	}
}

func (r *restart) skip(ctx context.Context, d event.DeadLetter, why error) {
	slog.WarnContext(ctx, "replay.skipped", "replay_id", r.owner, "event_id", d.Receipt.ID,
		"provider", d.Receipt.Provider, "error", why.Error())
	r.keep(func() { r.skipped = append(r.skipped, d.ID) })
}

func (r *restart) keep(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}
