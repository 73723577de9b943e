package dispatch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
)

// Options configure a Dispatcher.
type Options struct {
	Queue                  Queue
	HTTP, Temporal, Queues Sender
	// Slots is the max number of concurrent attempts, at least 1; the same number again is reserved for slow ones.
	Slots int
	// Errors takes alerts that aren't about a single delivery.
	Errors ErrorSink
	// Attempts counts attempts; nil counts none.
	Attempts AttemptCounter
	// Chores are periodic tasks that any process may run.
	Chores []Chore
}

// Limits of the dispatcher.
const (
	// maxBodyBytes bounds the event bodies in memory, pageBytes those read at once.
	maxBodyBytes = 64 << 20
	pageBytes    = 8 << 20
	// Bounds of the pause between two polls of the queue.
	maxPollInterval = 5 * time.Second
	minPollInterval = 5 * time.Millisecond
	// queueTimeout bounds one call of the queue.
	queueTimeout = 30 * time.Second
)

// Dispatcher attempts the deliveries in the queue.
type Dispatcher struct {
	queue    Queue
	http     Sender
	temporal Sender
	queues   Sender
	errors   ErrorSink
	counter  AttemptCounter
	chores   []Chore
	slots    *shares
	routes   *routes
	settler  *settler
	recent   recent
	metrics  metrics
	failures *failureLog
	tracer   trace.Tracer

	working  context.Context // done when leasing stops
	stop     context.CancelFunc
	sending  context.Context // done when attempts are aborted
	giveUp   context.CancelFunc
	settling context.Context // done when settling is aborted
	end      context.CancelFunc
	attempts sync.WaitGroup
	loops    sync.WaitGroup
}

// New returns a dispatcher. It fails if a metric instrument can't be created.
func New(o Options) (*Dispatcher, error) {
	m, err := newMetrics()
	if err != nil {
		return nil, err
	}
	d := &Dispatcher{
		queue: o.Queue, http: o.HTTP, temporal: o.Temporal, queues: o.Queues, errors: o.Errors,
		counter: o.Attempts, chores: o.Chores,
		slots: newShares(o.Slots, maxBodyBytes, time.Now), metrics: m, failures: newFailureLog(),
		tracer: otel.Tracer("holdfast/delivery"),
	}
	d.routes = newRoutes(d.newRoute)
	d.settler = newSettler(o.Queue, d.slots, d.reportTransitions)
	d.working, d.stop = context.WithCancel(context.Background())
	d.sending, d.giveUp = context.WithCancel(context.Background())
	d.settling, d.end = context.WithCancel(context.Background())
	return d, nil
}

// Start starts the dispatcher.
func (d *Dispatcher) Start() {
	go d.settler.run(d.settling)
	d.loops.Go(d.leaseLoop)
	for _, c := range d.chores {
		d.loops.Go(func() { c.run(d.working) })
	}
}

// Stop stops leasing, lets attempts finish within grace, and settles their results, all until ctx ends. Deliveries that aren't
// settled by then are leased again after their lease.
func (d *Dispatcher) Stop(ctx context.Context, grace time.Duration) error {
	d.stop()
	d.slots.close()
	ended := make(chan struct{})
	go func() {
		d.loops.Wait()
		d.attempts.Wait()
		d.settler.close()
		<-d.settler.done
		close(ended)
	}()
	timer := time.AfterFunc(grace, d.giveUp)
	defer timer.Stop()
	defer d.end()
	defer d.giveUp()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leaseLoop leases deliveries whenever slots are free and deliveries may be due.
func (d *Dispatcher) leaseLoop() {
	pause := firstPause
	for d.working.Err() == nil {
		d.forgetWakes()
		want := d.slots.capacity()
		if want.Limit == 0 {
			d.wait(maxPollInterval, false)
			continue
		}
		jobs, next, err := d.lease(want)
		if err != nil {
			d.slots.claim(nil)
			slog.Warn("dispatch.lease_failed", "error", err.Error())
			d.wait(pause, false)
			pause = min(2*pause, maxPause)
			continue
		}
		pause = firstPause
		d.startAll(jobs)
		if len(jobs) < want.Limit {
			d.wait(min(max(time.Until(next), minPollInterval), maxPollInterval), true)
		}
	}
}

// forgetWakes drops wakes from before a lease, which sees what they announce.
func (d *Dispatcher) forgetWakes() {
	for _, wakes := range []<-chan struct{}{d.slots.wake, d.queue.Wakes()} {
		select {
		case <-wakes:
		default:
		}
	}
}

func (d *Dispatcher) lease(want delivery.LeaseRequest) ([]delivery.Job, time.Time, error) {
	if d.working.Err() != nil {
		return nil, time.Time{}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), queueTimeout) // a canceled lease would leave jobs without a process
	defer cancel()
	return d.queue.Lease(ctx, want)
}

// wait returns when polling again may help: slots were freed, time has passed, or, if wakes is set, this process queued
// deliveries.
func (d *Dispatcher) wait(limit time.Duration, wakes bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var wake <-chan struct{}
	if wakes {
		wake = d.queue.Wakes()
	}
	select {
	case <-d.working.Done():
	case <-d.slots.wake:
	case <-wake:
	case <-timer.C:
	}
}

// reportTransitions logs and counts state changes of destinations.
func (d *Dispatcher) reportTransitions(transitions []delivery.Transition) {
	for _, t := range transitions {
		if t.Disabled != "" {
			slog.Warn("destination.disabled", "destination", t.Destination, "reason", t.Disabled)
			d.alert("destination_disabled", event.ClassRejected, "destination/"+t.Destination, t.Disabled)
		}
		if t.From != t.To {
			slog.Warn("circuit.state_change", "destination", t.Destination, "from", string(t.From), "to", string(t.To))
			d.metrics.transitioned(t)
		}
	}
}

// alert records an error that notifies operators.
func (d *Dispatcher) alert(code string, class event.Class, about, text string) {
	d.errors.Record(oversight.ErrorEntry{
		Phase: event.PhaseDeliver, Class: class, Code: code, Message: text, Alert: true,
		Meta: map[string]string{"workflow_id": about},
	})
}

// Chore is a periodic task. Any number of processes may run it concurrently.
type Chore struct {
	// Name identifies the chore in the log.
	Name string
	// Every is the pause between two runs, spread by a quarter so that processes don't run it in step.
	Every time.Duration
	// Wakes ends the pause early; nil never does.
	Wakes <-chan struct{}
	// Do does a bounded amount of work. If it returns more, it is called again immediately.
	Do func(ctx context.Context) (more bool, err error)
}

// choreTimeout bounds one call of Do.
const choreTimeout = time.Minute

func (c Chore) run(ctx context.Context) {
	for ctx.Err() == nil {
		more, err := c.once(ctx)
		if err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "dispatch.chore_failed", "step", c.Name, "error", err.Error())
		}
		if more && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
		case <-c.Wakes:
		case <-time.After(spread(event.Duration(c.Every), 0.25)):
		}
	}
}

func (c Chore) once(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, choreTimeout)
	defer cancel()
	return c.Do(ctx)
}
