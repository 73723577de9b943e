package intake

import (
	"context"
	"time"

	"github.com/sony/gobreaker/v2"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/event/tally"
	"holdfast/workflows/runs"
)

// Options configure an Intake. All durations must be positive.
type Options struct {
	Starter EventStarter
	// Inbox stores what Temporal can't accept; nil if no database is configured.
	Inbox Spooler
	// Remover removes events that Temporal has confirmed late from the inbox; nil if there is no inbox.
	Remover InboxRemover
	// Conflicts records that an event had the key of another event but other content; nil if no database is configured.
	Conflicts ConflictStore
	// Duplicates counts redelivered events; nil if no database is configured.
	Duplicates DuplicateCounter
	// Owners finds the owners of keys, for providers with a recent import; nil if no database is configured. ImportedProviders
	// returns those providers, without blocking, and none while the database doesn't answer.
	Owners            OwnerStore
	ImportedProviders func() ([]string, error)
	// Breaker limits starts. Everything in the process that starts events shares it.
	Breaker *Breaker
	// BulkStarter is woken for events in the bulk lane; nil if this process runs no worker.
	BulkStarter *BulkStarter
	// Both makes an event durable in Temporal and in the inbox, not in whichever confirms first. It needs an inbox, and no event may
	// be a bulk event.
	Both bool
	// CommitTimeout bounds the commit of a request's events. StartTimeout bounds one start. Events that Temporal hasn't confirmed
	// within AckBudget go to the inbox as well.
	CommitTimeout time.Duration
	StartTimeout  time.Duration
	AckBudget     time.Duration
}

// EventStarter makes an event durable: a nil error means that it is committed.
type EventStarter interface {
	Start(ctx context.Context, r event.Receipt, body []byte, rejectRedelivery bool) (runs.Started, error)
}

// ErrorSink adds entries to the error log. Record neither blocks nor fails.
type ErrorSink interface {
	Record(e oversight.ErrorEntry)
}

// DuplicateCounter counts redelivered events. Count neither blocks nor fails.
type DuplicateCounter interface {
	Count(d event.Duplicate)
}

// Intake makes events durable.
type Intake struct {
	Options

	starts singleflight.Group // by workflow ID
	inbox  *inbox
	late   *lateConfirmations
	// conflicts reports events whose key belongs to another event.
	conflicts conflicts
	spools    metric.Int64Counter
	// owners is the breaker of look-ups of owners.
	owners *gobreaker.CircuitBreaker[bool]
}

// New creates an Intake.
func New(o Options) *Intake {
	i := &Intake{
		Options: o, inbox: newInbox(o.Inbox), late: newLateConfirmations(o.Remover), conflicts: conflicts{o.Conflicts},
		owners: newInboxBreaker("owners of keys"),
	}
	i.spools, _ = otel.Meter("holdfast/intake").Int64Counter("holdfast_events_spooled_total",
		metric.WithDescription("Events committed to the inbox because Temporal was down, busy or slow, or failed, "+
			"by provider and reason."))
	return i
}

// Close waits until events whose starts were confirmed late are removed from the inbox.
func (i *Intake) Close(ctx context.Context) error { return i.late.close(ctx) }

// countSpooled counts the event unless the inbox has found a duplicate or a conflict, which it doesn't store.
func (i *Intake) countSpooled(ctx context.Context, provider string, spooled runs.Started, reason string) {
	if spooled.State != StateSpooled {
		return
	}
	i.spools.Add(ctx, 1, tally.Labels("provider", provider, "reason", reason))
}

// StateSpooled is the state of an accepted event that waits in the inbox for Temporal.
const StateSpooled runs.State = "spooled"

// IsNew reports whether the event is the first with its key. All others are duplicates.
func IsNew(s runs.State) bool { return s == runs.StateAccepted || s == StateSpooled }

const (
	// maxConcurrentStarts bounds the concurrent starts of one request. maxConcurrentCommits bounds its concurrent commits to
	// either store.
	maxConcurrentStarts  = 16
	maxConcurrentCommits = 256
)

// request contains the fields that the events of a request share.
type request struct {
	// ackDeadline is the end of the ACK budget.
	ackDeadline time.Time
	// slots limits the concurrent starts.
	slots chan struct{}
}

// Commit commits every event of a request, or fails as a whole: the sender then retries the whole request, and the events
// already committed count as duplicates. A single event gets no goroutine of its own, which would add a tenth to its cost.
func (i *Intake) Commit(ctx context.Context, events []event.Received) (started []runs.Started, err error) {
	limited, cancel := runs.WithTimeout(ctx, i.CommitTimeout)
	defer cancel()
	r := &request{ackDeadline: time.Now().Add(i.AckBudget), slots: make(chan struct{}, maxConcurrentStarts)}
	started = make([]runs.Started, len(events))
	if len(events) == 1 {
		started[0], err = i.commitOne(limited, events[0], r)
	} else {
		err = i.commitBatch(limited, events, r, started)
	}
	if err != nil {
		return nil, err
	}
	for n, e := range events {
		i.conflicts.report(ctx, started[n].Conflict)
		countRedelivery(ctx, i.Duplicates, e.Receipt, started[n])
	}
	i.answerImported(ctx, events, started)
	return started, nil
}

// commitBatch commits events concurrently. Those of a large batch that can't be started within the ACK budget go to the inbox,
// many at a time.
func (i *Intake) commitBatch(ctx context.Context, events []event.Received, r *request, started []runs.Started) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentCommits)
	for n, e := range events {
		group.Go(func() (err error) {
			started[n], err = i.commitOne(ctx, e, r)
			return err
		})
	}
	return group.Wait()
}

// commitOne commits an event. If its key is certain (see event.Receipt.Certain) and belongs to an event with other content, the
// event gets a separate key and becomes a dead letter.
func (i *Intake) commitOne(ctx context.Context, e event.Received, r *request) (started runs.Started, err error) {
	defer guard("commit event of workflow "+e.WorkflowID(), &err)
	started, err = i.commitShared(ctx, e, r)
	found := started.Conflict
	if err != nil || !e.IsConflict(found) {
		return started, err
	}
	e.Receipt = e.WithConflictKey(found.Owner)
	started, err = i.commitShared(ctx, e, r)
	started.Conflict = found
	return started, err
}

// commitShared commits an event. Concurrent requests with the same key share one commit: all but the first are duplicates, so a
// burst of them costs each store one call.
func (i *Intake) commitShared(ctx context.Context, e event.Received, r *request) (runs.Started, error) {
	first := false
	result, err, _ := i.starts.Do(e.WorkflowID(), func() (any, error) {
		first = true
		switch {
		case len(e.Body) > event.MaxInline:
			return i.commitLarge(ctx, e)
		case e.Bulk && i.inbox.isConfigured():
			return i.commitBulk(ctx, e, r)
		case i.Both:
			return i.commitBoth(ctx, e, r)
		}
		return i.commit(ctx, e, r)
	})
	if err != nil {
		return runs.Started{}, err
	}
	started := result.(runs.Started)
	if first {
		return started, nil
	}
	started.Conflict = e.ConflictWith(started.EventID, started.Fingerprint)
	if started.State == StateSpooled && started.Conflict == nil {
		started.EventID = "" // Temporal may have, or get, the key's event from another request
	}
	if IsNew(started.State) {
		started.State = runs.StateProcessing
	}
	return started, nil
}
