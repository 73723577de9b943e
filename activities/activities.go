// Package activities holds the steps of an event's workflow that touch the world: one activity a file.
//
// An activity reads its definition from a catalogue and writes through the small interfaces declared here. It returns
// plain errors; the Interceptor turns them into the error classes that the workflow decides by. It must never know SQL,
// HTTP or the lane it runs on.
package activities

import (
	"context"

	"go.temporal.io/sdk/activity"

	"holdfast/event"
	"holdfast/event/tally"
	"holdfast/providers"
)

// Activities are the steps of events. The names of its methods stand in histories.
type Activities struct {
	Catalogue   Catalogue
	Events      EventStore
	Entities    EntityStore
	DeadLetters DeadLetterStore
	Batches     BatchStore
	// Inputs are what the runs of large events were started with.
	Inputs InputReader
	// Duplicates counts the events that came again, as only the database has known; nil counts none.
	Duplicates DuplicateCounter
}

// DuplicateCounter counts events that came again. Count neither waits nor fails.
type DuplicateCounter interface {
	Count(d event.Duplicate)
}

// countDuplicate counts an event that its sender was told to be accepted, since only the database knew that it came again.
func (a *Activities) countDuplicate(ctx context.Context, r event.Receipt, owner string) {
	if r.IsUndecidable() {
		tally.UndecidableDuplicate(ctx, r.Provider)
	}
	if a.Duplicates != nil && owner != "" && owner != r.ID {
		a.Duplicates.Count(event.Duplicate{Provider: r.Provider, Key: r.Key, Owner: owner, At: r.ReceivedAt})
	}
}

// Catalogue finds the definition of a provider as it stands now.
type Catalogue interface {
	Lookup(name string) (*providers.Provider, bool)
}

// EventStore keeps events.
type EventStore interface {
	// Process does what Persist and UpsertEntities do, in one transaction. It does not wait for long; where it fails nothing has
	// happened, and the two go on.
	Process(ctx context.Context, r event.Receipt, body []byte, p event.Parsed, run event.Run) (event.Persisted, error)
	// Persist claims the event's key and stores the event, in one transaction. It may be called any number of times. The error
	// is an *event.VerdictError, as it is with the other stores, if an operator has decided about the event.
	Persist(ctx context.Context, r event.Receipt, body []byte, p event.Parsed, run event.Run) (event.Persisted, error)
}

// EntityStore keeps the folded state of entities.
type EntityStore interface {
	// UpsertEntities folds the event's changes, marks the event processed and resolves its dead letter, in one transaction.
	// It may be called any number of times, and returns how many changes came too late to show.
	UpsertEntities(ctx context.Context, r event.Receipt, p event.Parsed, run event.Run) (withoutEffect int, err error)
}

// DeadLetterStore keeps dead letters.
type DeadLetterStore interface {
	// RecordDeadLetter opens the event's dead letter or updates the one that is open. The error is an *event.DuplicateError if
	// nothing is kept since another event has the key.
	RecordDeadLetter(ctx context.Context, d event.DeadLetter) error
	// DeadLetterID is the number of the dead letter that a run has recorded; 0 if it has recorded none, since its event was
	// processed.
	DeadLetterID(ctx context.Context, eventID, runID string) (int64, error)
}

func currentRun(ctx context.Context) event.Run {
	execution := activity.GetInfo(ctx).WorkflowExecution
	return event.Run{WorkflowID: execution.ID, RunID: execution.RunID}
}
