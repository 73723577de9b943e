package intake

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"holdfast/event"
)

const (
	// removePause is how long confirmations are collected before one statement removes their rows. No request waits for it, and
	// the drain skips the rows for longer than that.
	removePause = 100 * time.Millisecond
	// removeTimeout bounds the duration of one statement. maxLate bounds the events queued for the next.
	removeTimeout = 2 * time.Second
	maxLate       = 1000
)

// InboxRemover removes events that are committed elsewhere from the inbox.
type InboxRemover interface {
	// RemoveFromInbox removes the events with these IDs, each of the workflow at the same index, unless a drain has them locked.
	// It returns the providers of the removed events.
	RemoveFromInbox(ctx context.Context, workflowIDs, eventIDs []string) (providers []string, err error)
}

// lateConfirmations removes events from the inbox whose start was confirmed after they were stored there. The drain would find
// that they are duplicates, but at the cost of a start and a read of the run for each: 5 ms of CPU on a Temporal server that is
// already slow. This only saves work: without it, no event would be lost.
type lateConfirmations struct {
	store   InboxRemover
	drained drainedCounter
	stop    chan struct{}
	work    sync.WaitGroup

	mu                    sync.Mutex
	workflowIDs, eventIDs []string // queued
	running, stopped      bool
}

func newLateConfirmations(store InboxRemover) *lateConfirmations {
	return &lateConfirmations{store: store, drained: newDrainedCounter(), stop: make(chan struct{})}
}

// add queues an event for removal. It never blocks.
func (l *lateConfirmations) add(r event.Receipt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || l.store == nil || len(l.eventIDs) >= maxLate {
		return
	}
	l.workflowIDs, l.eventIDs = append(l.workflowIDs, r.WorkflowID()), append(l.eventIDs, r.ID)
	if !l.running {
		l.running = true
		l.work.Go(l.run)
	}
}

// run removes queued events until none is left.
func (l *lateConfirmations) run() {
	for {
		select {
		case <-time.After(removePause):
		case <-l.stop:
		}
		l.mu.Lock()
		workflowIDs, eventIDs := l.workflowIDs, l.eventIDs
		l.workflowIDs, l.eventIDs = nil, nil
		l.running = len(eventIDs) > 0
		l.mu.Unlock()
		if len(eventIDs) == 0 {
			return
		}
		if err := l.remove(workflowIDs, eventIDs); err != nil {
			slog.Warn("inbox.remove_failed", "events", len(eventIDs), "error", err.Error())
		}
	}
}

func (l *lateConfirmations) remove(workflowIDs, eventIDs []string) (err error) {
	defer guard("remove events from the inbox", &err)
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	providers, err := l.store.RemoveFromInbox(ctx, workflowIDs, eventIDs)
	for _, provider := range providers {
		l.drained.count(ctx, provider, "confirmed")
	}
	return err
}

// close stops accepting events and waits until the queued ones are removed.
func (l *lateConfirmations) close(ctx context.Context) error {
	l.mu.Lock()
	if !l.stopped {
		l.stopped = true
		close(l.stop)
	}
	l.mu.Unlock()
	done := make(chan struct{})
	go func() {
		l.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
