package intake

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"holdfast/event"
	"holdfast/workflows/runs"
)

const (
	// acceptedPause is the time between two look-ups. An event is looked up after one to two of them: most are stored by then, and
	// are not looked at again.
	acceptedPause = 10 * time.Second
	// acceptedPage is how many events one statement looks up, and acceptedTimeout bounds it.
	acceptedPage    = 1000
	acceptedTimeout = 5 * time.Second
	// maxAccepted bounds the remembered events: about 40 MiB. Half as many are looked up at once.
	maxAccepted = 1 << 16
)

// AcceptedStore stores receipts of accepted events.
type AcceptedStore interface {
	// KeepAccepted stores the receipts of those events that the database doesn't have in any form.
	KeepAccepted(ctx context.Context, accepted []event.Acknowledged) (kept int, err error)
}

// Accepted remembers the events that Temporal has accepted, and some seconds later has the receipts of those stored that the
// database still doesn't have. Otherwise nothing would show that they were acknowledged if their runs were deleted. Close looks
// up the rest. The death of the process loses what it remembers, but no event.
type Accepted struct {
	store AcceptedStore
	full  chan struct{}
	stop  context.CancelFunc
	done  chan struct{}
	kept  metric.Int64Counter
	lost  metric.Int64Counter

	mu  sync.Mutex
	new []event.Acknowledged
	// old are the events of the pause before, which are due at the next look-up.
	old []event.Acknowledged
}

// NewAccepted starts the look-ups.
func NewAccepted(store AcceptedStore) *Accepted {
	ctx, cancel := context.WithCancel(context.Background())
	a := &Accepted{store: store, full: make(chan struct{}, 1), stop: cancel, done: make(chan struct{})}
	meter := otel.Meter("holdfast/intake")
	a.kept, _ = meter.Int64Counter("holdfast_receipts_kept_total", metric.WithDescription(
		"Accepted events that were not recorded some seconds later, whose receipts were stored."))
	a.lost, _ = meter.Int64Counter("holdfast_receipts_dropped_total", metric.WithDescription(
		"Accepted events that couldn't be remembered until they were looked up: a deleted run of theirs wouldn't be noticed."))
	go a.run(ctx)
	return a
}

// Starting returns a starter that remembers what it starts.
func (a *Accepted) Starting(with EventStarter) EventStarter {
	if a == nil {
		return with
	}
	return acceptedStarter{with, a}
}

type acceptedStarter struct {
	EventStarter

	accepted *Accepted
}

func (s acceptedStarter) Start(ctx context.Context, r event.Receipt, body []byte, reject bool) (runs.Started, error) {
	started, err := s.EventStarter.Start(ctx, r, body, reject)
	if err == nil && started.State == runs.StateAccepted && !r.Copied { // a copy is processed again
		r.ID = started.EventID
		s.accepted.add(event.Acknowledged{Receipt: r.ForLoss(), RunID: started.RunID})
	}
	return started, err
}

// add never blocks.
func (a *Accepted) add(e event.Acknowledged) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch n := len(a.new) + len(a.old); {
	case n >= maxAccepted:
		a.lost.Add(context.Background(), 1)
		return
	case n == maxAccepted/2:
		select {
		case a.full <- struct{}{}:
		default:
		}
	}
	a.new = append(a.new, e)
}

func (a *Accepted) run(ctx context.Context) {
	defer close(a.done)
	tick := time.NewTicker(acceptedPause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			a.lookUp(ctx, false)
		case <-a.full:
			a.lookUp(ctx, true)
		case <-ctx.Done():
			return
		}
	}
}

// lookUp looks up what is due, or everything. What fails stays due.
func (a *Accepted) lookUp(ctx context.Context, everything bool) {
	a.mu.Lock()
	due := a.old
	a.old, a.new = a.new, nil
	if everything {
		due, a.old = append(due, a.old...), nil
	}
	a.mu.Unlock()
	for len(due) > 0 {
		page := due[:min(len(due), acceptedPage)]
		ctx, cancel := context.WithTimeout(ctx, acceptedTimeout)
		kept, err := a.store.KeepAccepted(ctx, page)
		cancel()
		if err != nil {
			slog.WarnContext(ctx, "receipts.failed", "events", len(due), "error", err.Error())
			break
		}
		a.kept.Add(ctx, int64(kept))
		due = due[len(page):]
	}
	if len(due) > 0 {
		a.mu.Lock()
		a.old = append(due, a.old...)
		a.mu.Unlock()
	}
}

// Close looks up everything that is left.
func (a *Accepted) Close(ctx context.Context) error {
	a.stop()
	<-a.done
	a.lookUp(ctx, true)
	return nil
}
