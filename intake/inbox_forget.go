package intake

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"holdfast/event"
)

const (
	// forgetPause lets confirmations gather, so that they share one statement. Nobody waits for it, and the drain leaves their
	// rows alone for longer.
	forgetPause = 100 * time.Millisecond
	// forgetLimit bounds one statement, and maxForgets what waits for the next.
	forgetLimit = 2 * time.Second
	maxForgets  = 1000
)

// InboxForgetter takes events out of the inbox that are committed elsewhere.
type InboxForgetter interface {
	// ForgetInbox takes out the events with these IDs, each of the workflow at the same place, unless somebody works on them. It
	// gives the providers of those that it has taken out.
	ForgetInbox(ctx context.Context, workflowIDs, eventIDs []string) (providers []string, err error)
}

// forgets take events out of the inbox whose start was confirmed after they had been put there. It saves the drain from starting
// them once more only to find that they are duplicates, which it does with every event that is left.
type forgets struct {
	store InboxForgetter
	drain drainMetrics
	stop  chan struct{}
	work  sync.WaitGroup

	mu                    sync.Mutex
	workflowIDs, eventIDs []string // that wait
	running, stopped      bool
}

func newForgets(store InboxForgetter) (*forgets, error) {
	metrics, err := newDrainMetrics()
	return &forgets{store: store, drain: metrics, stop: make(chan struct{})}, err
}

// add has the inbox forget an event soon. It never waits.
func (f *forgets) add(r event.Receipt) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || f.store == nil || len(f.eventIDs) >= maxForgets {
		return
	}
	f.workflowIDs, f.eventIDs = append(f.workflowIDs, r.WorkflowID()), append(f.eventIDs, r.ID)
	if !f.running {
		f.running = true
		f.work.Go(f.run)
	}
}

// run works until nothing waits.
func (f *forgets) run() {
	for {
		select {
		case <-time.After(forgetPause):
		case <-f.stop:
		}
		f.mu.Lock()
		workflowIDs, eventIDs := f.workflowIDs, f.eventIDs
		f.workflowIDs, f.eventIDs = nil, nil
		f.running = len(eventIDs) > 0
		f.mu.Unlock()
		if len(eventIDs) == 0 {
			return
		}
		if err := f.forget(workflowIDs, eventIDs); err != nil {
			slog.Warn("inbox.forget_failed", "events", len(eventIDs), "error", err.Error())
		}
	}
}

func (f *forgets) forget(workflowIDs, eventIDs []string) (err error) {
	defer func() {
		if value := recover(); value != nil { // nobody above recovers in this goroutine
			err = fmt.Errorf("forget events of the inbox: panicked with a %T", value)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), forgetLimit)
	defer cancel()
	providers, err := f.store.ForgetInbox(ctx, workflowIDs, eventIDs)
	for _, provider := range providers {
		f.drain.count(ctx, provider, "confirmed")
	}
	return err
}

// close takes no more, and waits until what waits is forgotten.
func (f *forgets) close(ctx context.Context) error {
	f.mu.Lock()
	if !f.stopped {
		f.stopped = true
		close(f.stop)
	}
	f.mu.Unlock()
	done := make(chan struct{})
	go func() {
		f.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
