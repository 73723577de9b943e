package intake

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/runs"
)

// Options configure an Intake. All durations must be positive.
type Options struct {
	Starter EventStarter
	// Inbox takes what Temporal cannot; nil where no database is configured.
	Inbox Spooler
	// Remover takes out of the inbox what Temporal has confirmed late; nil where there is none.
	Remover InboxRemover
	// Conflicts keeps the events whose key another one has; nil where no database is configured.
	Conflicts ConflictBook
	// Duplicates counts the events that came again; nil where no database is configured.
	Duplicates DuplicateCounter
	// Breaker stands before Temporal. It is shared by all of the process that starts events.
	Breaker *Breaker
	// BulkStarter hears of what waits in the bulk lane; nil where no worker runs in this process.
	BulkStarter *BulkStarter
	// Budget bounds the commit of a request's events, StartTimeout one start. What Temporal has not confirmed within AckBudget
	// goes to the inbox as well.
	Budget       time.Duration
	StartTimeout time.Duration
	AckBudget    time.Duration
}

// EventStarter makes an event durable: a nil error means that it is committed.
type EventStarter interface {
	Start(ctx context.Context, r event.Receipt, body []byte, reject bool) (runs.Started, error)
}

// ErrorSink takes entries for the error log. Record neither waits nor fails.
type ErrorSink interface {
	Record(e oversight.ErrorEntry)
}

// DuplicateCounter counts events that came again. Count neither waits nor fails.
type DuplicateCounter interface {
	Count(d event.Duplicate)
}

// Intake makes events durable.
type Intake struct {
	Options

	starts singleflight.Group // by workflow ID
	inbox  *inbox
	late   *lateConfirmations
	// conflicts report events whose key another event has.
	conflicts conflicts
	spools    metric.Int64Counter
}

// New makes an intake.
func New(o Options) (i *Intake, err error) {
	i = &Intake{Options: o, inbox: newInbox(o.Inbox), conflicts: conflicts{o.Conflicts}}
	if i.late, err = newLateConfirmations(o.Remover); err != nil {
		return nil, err
	}
	i.spools, err = otel.Meter("holdfast/intake").Int64Counter("holdfast_events_spooled_total",
		metric.WithDescription("Events that were committed to the inbox because Temporal was down, busy, slow or had failed (reason)."))
	return i, err
}

// Close waits until what was confirmed late has left the inbox.
func (i *Intake) Close(ctx context.Context) error { return i.late.close(ctx) }

func (i *Intake) countSpooled(ctx context.Context, provider, reason string) {
	i.spools.Add(ctx, 1, metric.WithAttributes(attribute.String("provider", provider), attribute.String("reason", reason)))
}

// StateSpooled is that of an event that is accepted, and waits in the inbox until Temporal takes it.
const StateSpooled runs.State = "spooled"

// IsNew says of an event whether it is the first of its key. All others are duplicates.
func IsNew(s runs.State) bool { return s == runs.StateAccepted || s == StateSpooled }

// Event is what is to be made durable.
type Event struct {
	Receipt event.Receipt
	Body    []byte
	// Reject says that a redelivery is a duplicate also where the event has failed.
	Reject bool
	// Bulk says that the event goes to the bulk lane, where there is an inbox.
	Bulk bool
}

const (
	// maxConcurrentStarts bounds the starts of one batch that are under way at the same time, and maxConcurrentCommits
	// those of its events that are on their way to either store.
	maxConcurrentStarts  = 16
	maxConcurrentCommits = 256
)

// Commit commits every event of a request, or fails as a whole: the sender then sends the whole request again, and the events
// that were committed are the duplicates that they are. What of a large batch cannot be started within the ACK budget goes to
// the inbox, by the hundred.
func (i *Intake) Commit(ctx context.Context, events []Event) ([]runs.Started, error) {
	started, err := i.commitAll(ctx, events)
	if err != nil {
		return nil, err
	}
	for n, e := range started {
		i.conflicts.report(ctx, e.Conflict)
		countRepeat(ctx, i.Duplicates, events[n].Receipt, e)
	}
	return started, nil
}

// commitAll has no goroutine for a lone event, which is a tenth of what it costs.
func (i *Intake) commitAll(ctx context.Context, events []Event) ([]runs.Started, error) {
	ctx, cancel := runs.WithTimeout(ctx, i.Budget)
	defer cancel()
	slowAt := time.Now().Add(i.AckBudget)
	slots := make(chan struct{}, maxConcurrentStarts)
	started := make([]runs.Started, len(events))
	if len(events) == 1 {
		var err error
		started[0], err = i.commitOnce(ctx, arrival{events[0], slowAt, slots})
		return started, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentCommits)
	for n, e := range events {
		group.Go(func() (err error) {
			started[n], err = i.commitOnce(ctx, arrival{e, slowAt, slots})
			return err
		})
	}
	return started, group.Wait()
}

// commitOnce commits an event. If its certain key belongs to an event with other content, it gets a separate key, and its run
// makes it a dead letter.
func (i *Intake) commitOnce(ctx context.Context, a arrival) (runs.Started, error) {
	started, err := i.commitShared(ctx, a)
	if err != nil || !a.Receipt.IsConflict(started.Conflict) {
		return started, err
	}
	found := started.Conflict
	a.Receipt = a.Receipt.WithConflictKey(found.Owner)
	started, err = i.commitShared(ctx, a)
	started.Conflict = found
	return started, err
}

// commitShared commits an event. Requests with the same key that are here at the same time share one commit: all but the first
// are duplicates of it, and a storm of them costs a store no more than one.
func (i *Intake) commitShared(ctx context.Context, a arrival) (runs.Started, error) {
	first := false
	id := a.Receipt.WorkflowID()
	result, err, _ := i.starts.Do(id, func() (any, error) {
		first = true
		return safely("commit event of workflow "+id, func() (runs.Started, error) {
			if a.Bulk && i.inbox.isThere() {
				return i.commitBulk(ctx, a)
			}
			return i.commit(ctx, a)
		})
	})
	if err != nil {
		return runs.Started{}, err
	}
	started := result.(runs.Started)
	if first {
		return started, nil
	}
	if started.Conflict = a.Receipt.ConflictWith(started.EventID, started.Fingerprint); IsNew(started.State) {
		started.State = runs.StateProcessing
	}
	return started, nil
}
