package intake

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/event/tally"
	"holdfast/workflows/runs"
)

const (
	// drainPoll is the pause after finding the inbox empty: other processes fill it, too.
	drainPoll = 2 * time.Second
	// copiesPoll is the pause between two checks of copies: almost all are removed when their events are stored.
	copiesPoll = 30 * time.Second
	// largePause is the pause before the drain first checks the body of a large event: longer than a start takes.
	largePause = 20 * time.Second
	// waitsToBeStored is the last error of a copy whose event Temporal has.
	waitsToBeStored = "Temporal has it; it isn't stored yet"
	// drainRetry is the pause after a failed poll, or while Temporal is down.
	drainRetry = 500 * time.Millisecond
	// rowsPerStart is how many rows are claimed for each permitted start.
	rowsPerStart = 2
	// The bounds of the pause before an event that couldn't be started is retried. The pause doubles each time.
	minPostpone = time.Second
	maxPostpone = 15 * time.Second
	// An event is dead-lettered when its start has failed deadLetterAfter times (after about a minute), the last two failures are
	// refusals, and Temporal has accepted another event between them. If Temporal accepts no events at all, its setup may be at
	// fault, and an operator must fix that.
	deadLetterAfter = 8
	// acceptedWithin is how recently Temporal must have accepted another event: within the pause before the last refusal.
	acceptedWithin = maxPostpone
	// refusedPrefix marks the last error of a row as a refusal.
	refusedPrefix = "Temporal refuses it: "
)

// InboxQueue claims events from the inbox.
type InboxQueue interface {
	// DrainInbox calls settle with up to limit locked events and returns their number.
	DrainInbox(ctx context.Context, lane event.Lane, limit int,
		settle func(context.Context, []event.Waiting) []event.StartOutcome) (int, error)
}

// Drain starts the workflows of the events in the inbox. Several processes may drain the same inbox, and each may die at any
// time: an event leaves the inbox only after its start is confirmed.
type Drain struct {
	// Errors receives what operators should see; nil without an error log. Set it before Run.
	Errors ErrorSink
	// Duplicates counts events that were redelivered while the first delivery waited; nil without a database. Set it before Run.
	Duplicates DuplicateCounter

	queue        InboxQueue
	starter      EventStarter
	breaker      *Breaker
	startTimeout time.Duration // for one start
	drained      drainedCounter
	// conflicts reports acknowledged events whose key turns out to belong to another event.
	conflicts conflicts
	waited    time.Duration // the age of the oldest event of the last page
	copiesAt  time.Time     // when large events and copies are checked next; zero: at once

	ctx     context.Context //nolint:containedctx // of Run, which Stop ends
	cancel  context.CancelFunc
	stopped chan struct{}
}

// NewDrain returns a drain whose starts go through the breaker and time out after startTimeout.
func NewDrain(
	queue InboxQueue, starter EventStarter, store ConflictStore, breaker *Breaker, startTimeout time.Duration,
) *Drain {
	d := &Drain{
		queue: queue, starter: starter, breaker: breaker, startTimeout: startTimeout, drained: newDrainedCounter(),
		conflicts: conflicts{store},
		stopped:   make(chan struct{}),
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// drainedCounter counts the events taken from the inbox, by result.
type drainedCounter struct{ metric.Int64Counter }

func newDrainedCounter() (c drainedCounter) {
	c.Int64Counter, _ = otel.Meter("holdfast/intake").Int64Counter("holdfast_inbox_drained_total",
		metric.WithDescription("Events claimed from the inbox, by provider and result (started, duplicate, confirmed, dead, failed)."))
	return c
}

func (c drainedCounter) count(ctx context.Context, provider, result string) {
	c.Add(ctx, 1, tally.Labels("provider", provider, "result", result))
}

// Run drains until Stop.
func (d *Drain) Run() {
	defer close(d.stopped)
	for d.ctx.Err() == nil {
		pause(d.ctx, d.round(d.ctx), d.breaker.wakes)
	}
}

// Stop ends the drain. Rows it has claimed stay in the inbox.
func (d *Drain) Stop(ctx context.Context) error {
	d.cancel()
	select {
	case <-d.stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pause waits for the duration d, the signal (may be nil) or the end of the context, whichever comes first.
func pause(ctx context.Context, d time.Duration, signal <-chan struct{}) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-signal:
	case <-ctx.Done():
	}
}

// round processes one page of the inbox and returns the pause before the next.
func (d *Drain) round(ctx context.Context) time.Duration {
	capacity := d.breaker.capacity(d.waited)
	if capacity == 0 {
		return drainRetry
	}
	claim := capacity * rowsPerStart
	if capacity == 1 { // tests whether Temporal is back
		claim = 1
	}
	d.waited = 0
	n, err := d.drainPage(ctx, event.LaneOverflow, claim, capacity)
	if err == nil && !time.Now().Before(d.copiesAt) {
		n, err = d.drainCopies(ctx, n, claim, capacity)
	}
	switch {
	case ctx.Err() != nil:
		return drainRetry
	case err != nil:
		slog.WarnContext(ctx, "inbox.drain_failed", "error", err.Error())
		return drainRetry
	case n < claim:
		return drainPoll
	case d.breaker.isDown(): // the start of a request tests whether Temporal is back, and nothing else may start
		return drainRetry
	default:
		return 0
	}
}

// drainCopies drains a page of the large events and, unless the overflow lane had a full one, of copies, whose events Temporal
// has. It returns the size of the largest page.
func (d *Drain) drainCopies(ctx context.Context, overflow, claim, capacity int) (n int, err error) {
	lanes := []event.Lane{event.LaneLarge, event.LaneCopy}
	if overflow == claim {
		lanes = lanes[:1]
	}
	for _, lane := range lanes {
		if n, err = d.drainPage(ctx, lane, claim, capacity); err != nil || n == claim {
			return n, err
		}
	}
	d.copiesAt = time.Now().Add(copiesPoll)
	return max(n, overflow), nil
}

func (d *Drain) drainPage(ctx context.Context, lane event.Lane, claim, capacity int) (n int, err error) {
	defer guard("drain the inbox", &err)
	return d.queue.DrainInbox(ctx, lane, claim, func(ctx context.Context, rows []event.Waiting) []event.StartOutcome {
		if lane == event.LaneOverflow {
			d.waited = time.Since(rows[0].Receipt.ReceivedAt)
		}
		return d.settle(ctx, rows, capacity)
	})
}

// settle starts the workflows of the rows, at most capacity at the same time.
func (d *Drain) settle(ctx context.Context, rows []event.Waiting, capacity int) []event.StartOutcome {
	outcomes := make([]event.StartOutcome, len(rows))
	var group errgroup.Group
	group.SetLimit(capacity)
	for i, row := range rows {
		group.Go(func() error {
			outcomes[i] = d.settleOne(ctx, row)
			return nil
		})
	}
	_ = group.Wait() // the functions return no errors
	return outcomes
}

func (d *Drain) settleOne(ctx context.Context, row event.Waiting) (s event.StartOutcome) {
	permit := d.breaker.admitFromInbox()
	if permit == nil {
		return s // Temporal has gone down in the meantime
	}
	ctx, cancel := runs.WithTimeout(ctx, d.startTimeout)
	defer cancel()
	started, err := d.start(ctx, row)
	permit.end(err)
	switch {
	case err == nil && row.Lane == event.LaneLarge:
		s.Error, s.Retry = waitsToBeStored, copyPause(row.Attempts+1)
		if started.State == runs.StateProcessed || started.State == runs.StateDead {
			s.Owner = started.EventID
		}
		d.conflicts.report(ctx, started.Conflict)
		d.drained.count(ctx, row.Receipt.Provider, resultOf(started))
	case err == nil && row.Lane == event.LaneCopy && (started.State == runs.StateAccepted || started.State == runs.StateProcessing):
		s.Error, s.Retry = waitsToBeStored, copyPause(row.Attempts+1)
		if started.State == runs.StateAccepted { // the new run can't remove the copy while its row is locked here
			s.Retry = minCopyPause
		}
		d.drained.count(ctx, row.Receipt.Provider, resultOf(started))
	case err == nil:
		s.Started = true
		d.conflicts.report(ctx, started.Conflict)
		countRedelivery(ctx, d.Duplicates, row.Receipt, started)
		d.drained.count(ctx, row.Receipt.Provider, resultOf(started))
	case errors.Is(err, runs.ErrTooLarge) || runs.IsIDTaken(err) || runs.IsRefused(err) && d.isAtFault(row):
		s.Dead = whyRefused(row, err)
		d.drained.count(ctx, row.Receipt.Provider, "dead")
		event.LogDeadLetter(event.ContextLogger{Context: ctx}, row.Receipt, *s.Dead, time.Since(row.Receipt.ReceivedAt))
	default:
		s.Error, s.Retry = err.Error(), postpone(row.Attempts)
		if runs.IsRefused(err) {
			s.Error = refusedPrefix + s.Error
			d.reportRefused(row, s.Error)
		}
		d.drained.count(ctx, row.Receipt.Provider, "failed")
	}
	return s
}

// start starts an event, under a key of its own if its key belongs to an event with other content: see Intake.commitOne.
func (d *Drain) start(ctx context.Context, row event.Waiting) (started runs.Started, err error) {
	defer guard("start workflow "+row.Receipt.WorkflowID(), &err)
	started, err = d.starter.Start(ctx, row.Receipt, row.Body, row.RejectRedelivery)
	found := started.Conflict
	if err != nil || !row.Receipt.IsConflict(found) {
		return started, err
	}
	started, err = d.starter.Start(ctx, row.Receipt.WithConflictKey(found.Owner), row.Body, row.RejectRedelivery)
	started.Conflict = found
	return started, err
}

// isAtFault reports whether the event itself is the cause of repeated refusals.
func (d *Drain) isAtFault(row event.Waiting) bool {
	return row.Attempts+1 >= deadLetterAfter && strings.HasPrefix(row.LastError, refusedPrefix) &&
		d.breaker.confirmedSince(time.Now().Add(-acceptedWithin))
}

// reportRefused adds an alert to the error log when the deadLetterAfter-th failed start of an event is a refusal by Temporal and
// the event isn't dead-lettered. If Temporal's setup is at fault, this is the only report.
func (d *Drain) reportRefused(row event.Waiting, why string) {
	if d.Errors == nil || row.Attempts+1 != deadLetterAfter {
		return
	}
	d.Errors.Record(oversight.ErrorEntry{
		Phase: event.PhaseReceive, Provider: row.Receipt.Provider, Class: event.ClassFailed, Code: "start_refused",
		Message: why, EventID: row.Receipt.ID, Alert: true, Meta: map[string]string{"source": row.Receipt.Source},
	})
}

func resultOf(s runs.Started) string {
	if s.State == runs.StateAccepted {
		return "started"
	}
	return "duplicate"
}

// whyRefused returns the failure of an event that can't be started: another workflow has its ID, or Temporal refuses it with a
// reason.
func whyRefused(row event.Waiting, err error) *event.Failure {
	code, message := "not_startable", "Temporal refuses to start it"
	var taken *runs.IDTakenError
	if errors.As(err, &taken) {
		code, message = "workflow_id_taken", taken.Error()
	} else if why := runs.WhyRefused(err); why != "" {
		message += ": " + why
	}
	return &event.Failure{
		Step: event.StepStart, Class: event.ClassRejected, Code: code, Message: message,
		Attempts: row.Attempts + 1, At: time.Now().UTC(),
	}
}

func postpone(attempts int) time.Duration {
	return min(minPostpone<<min(attempts, 10), maxPostpone)
}
