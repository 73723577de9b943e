package intake

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"holdfast/event"
)

const (
	// removePause lets confirmations gather, so that they share one statement. Nobody waits for it, and the drain leaves their
	// rows alone for longer.
	removePause = 100 * time.Millisecond
	// removeLimit bounds one statement, and maxLate what waits for the next.
	removeLimit = 2 * time.Second
	maxLate     = 1000
)

// InboxRemover takes events out of the inbox that are committed elsewhere.
type InboxRemover interface {
	// RemoveFromInbox takes out the events with these IDs, each of the workflow at the same place, unless somebody works on them. It
	// gives the providers of those that it has taken out.
	RemoveFromInbox(ctx context.Context, workflowIDs, eventIDs []string) (providers []string, err error)
}

// lateConfirmations take events out of the inbox whose start was confirmed after they had been put there. The drain would find
// that they are duplicates, by a start and a look at the run for each: 5 ms of CPU, asked of a Temporal that is slow already, so
// that the more starts are late the slower it would become. That is why this is here although the drain alone loses nothing.
type lateConfirmations struct {
	store InboxRemover
	drain drainMetrics
	stop  chan struct{}
	work  sync.WaitGroup

	mu                    sync.Mutex
	workflowIDs, eventIDs []string // that wait
	running, stopped      bool
}

func newLateConfirmations(store InboxRemover) (*lateConfirmations, error) {
	metrics, err := newDrainMetrics()
	return &lateConfirmations{store: store, drain: metrics, stop: make(chan struct{})}, err
}

// add takes an event out of the inbox soon. It never waits.
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

// run works until nothing waits.
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

func (l *lateConfirmations) remove(workflowIDs, eventIDs []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), removeLimit)
	defer cancel()
	providers, err := safely("remove events from the inbox", func() ([]string, error) {
		return l.store.RemoveFromInbox(ctx, workflowIDs, eventIDs)
	})
	for _, provider := range providers {
		l.drain.count(ctx, provider, "confirmed")
	}
	return err
}

// close takes no more, and waits until what waits is removed.
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
