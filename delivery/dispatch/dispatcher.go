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
	Queue Queue
	// HTTP and Temporal make the attempts of the two kinds of destination.
	HTTP, Temporal Sender
	// Slots is how many attempts may be under way at the same time, at least 1; as many again are kept for late ones.
	Slots int
	// Errors takes what people are to be told of beside single deliveries.
	Errors ErrorSink
	// Chores are what has to be done now and then, by whatever process.
	Chores []Chore
}

// How the dispatcher works.
const (
	// bodies bounds the bodies of attempts that are held in memory, in bytes, and page those that are read at once.
	bodies = 64 << 20
	page   = 8 << 20
	// longestLook is the longest pause between two looks, shortestLook the shortest.
	longestLook  = 5 * time.Second
	shortestLook = 5 * time.Millisecond
	// queueLimit bounds one call of the queue.
	queueLimit = 30 * time.Second
)

// Dispatcher works off what waits to be delivered.
type Dispatcher struct {
	queue          Queue
	http, temporal Sender
	errors         ErrorSink
	chores         []Chore
	slots          *shares
	reach          *reach
	settler        *settler
	recent         recent
	metrics        metrics
	failures       *failureLog
	tracer         trace.Tracer

	working  context.Context // until no more may be leased
	stop     context.CancelFunc
	sending  context.Context // until attempts are given up
	giveUp   context.CancelFunc
	settling context.Context // until outcomes are given up
	end      context.CancelFunc
	attempts sync.WaitGroup
	loops    sync.WaitGroup
}

// New makes a dispatcher. The error is that of an instrument that cannot be made.
func New(o Options) (*Dispatcher, error) {
	m, err := newMetrics()
	if err != nil {
		return nil, err
	}
	d := &Dispatcher{
		queue: o.Queue, http: o.HTTP, temporal: o.Temporal, errors: o.Errors, chores: o.Chores,
		slots: newShares(o.Slots, bodies, time.Now), metrics: m, failures: newFailureLog(), tracer: otel.Tracer("holdfast/delivery"),
	}
	d.reach = newReach(d.cutOff)
	d.settler = newSettler(o.Queue, d.slots, d.turned)
	d.working, d.stop = context.WithCancel(context.Background())
	d.sending, d.giveUp = context.WithCancel(context.Background())
	d.settling, d.end = context.WithCancel(context.Background())
	return d, nil
}

// Start begins to work.
func (d *Dispatcher) Start() {
	go d.settler.run(d.settling)
	d.loops.Go(d.lead)
	for _, c := range d.chores {
		d.loops.Go(func() { c.run(d.working) })
	}
}

// Stop leases no more, gives attempts that are under way until grace is over, and settles what became of them; all of it at most
// until ctx ends. What is not settled then is leased again once its lease ends.
func (d *Dispatcher) Stop(ctx context.Context, grace time.Duration) error {
	d.stop()
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

// lead leases whenever there is room and something may be due.
func (d *Dispatcher) lead() {
	pause := firstPause
	for d.working.Err() == nil {
		want := d.slots.room()
		if want.Limit == 0 {
			d.wait(longestLook, false)
			continue
		}
		jobs, next, err := d.lease(want)
		if err != nil {
			slog.Warn("dispatch.lease_failed", "error", err.Error())
			d.wait(pause, false)
			pause = min(2*pause, maxPause)
			continue
		}
		pause = firstPause
		d.begin(jobs)
		if len(jobs) < want.Limit {
			d.wait(min(max(time.Until(next), shortestLook), longestLook), true)
		}
	}
}

func (d *Dispatcher) lease(want delivery.Want) ([]delivery.Job, time.Time, error) {
	if d.working.Err() != nil {
		return nil, time.Time{}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), queueLimit) // a lease that is cut off would be nobody's
	defer cancel()
	return d.queue.Lease(ctx, want)
}

// wait ends when it may be of use to look again: there is room, something was made due here, if that matters, or time has
// passed.
func (d *Dispatcher) wait(limit time.Duration, wakes bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var wake <-chan struct{}
	if wakes {
		wake = d.queue.Wakes()
	}
	select {
	case <-d.working.Done():
	case <-d.slots.look:
	case <-wake:
	case <-timer.C:
	}
}

// turned tells what outcomes have changed.
func (d *Dispatcher) turned(turns []delivery.Turn) {
	for _, t := range turns {
		if t.Disabled != "" {
			slog.Warn("destination.disabled", "destination", t.Destination, "reason", t.Disabled)
			d.alert("receiver_disabled", event.ClassRejected, "destination/"+t.Destination, t.Disabled)
		}
		if t.From != t.To {
			slog.Warn("circuit.state_change", "destination", t.Destination, "from", string(t.From), "to", string(t.To))
			d.metrics.turned(t)
		}
	}
}

// alert has people told of something, by the channels and in the measure of all notifications.
func (d *Dispatcher) alert(code string, class event.Class, about, text string) {
	d.errors.Record(oversight.ErrorEntry{
		Phase: event.PhaseDeliver, Class: class, Code: code, Message: text, Alert: true,
		Meta: map[string]string{"workflow_id": about},
	})
}
