// Package activities contains the steps of event workflows, one activity per file.
//
// An activity reads definitions from a catalogue and writes through the interfaces declared here. It returns plain errors; the
// Interceptor converts them to the error classes on which the workflow decides. It must not depend on SQL, HTTP, or whether it
// runs as a local activity.
package activities

import (
	"context"

	"go.temporal.io/sdk/activity"

	"holdfast/event"
	"holdfast/event/tally"
	"holdfast/providers"
)

// Activities implements the steps of events. Its method names are part of workflow histories.
type Activities struct {
	Catalogue   Catalogue
	Events      EventStore
	DeadLetters DeadLetterStore
	Splits      SplitStore
	Batches     BatchStore
	Lane        Gatherer
	// Inputs reads the events of runs of large events.
	Inputs InputReader
	// Bodies reads the bodies that PostgreSQL has.
	Bodies BodyReader
	// States stores the states that Fetcher gets from providers' APIs; nil if events are processed as they come.
	States  StateStore
	Fetcher Fetcher
	// Duplicates counts redeliveries that only the database detected; nil counts none.
	Duplicates DuplicateCounter
	// Mappings counts events by whether rules found entities in them; nil counts none.
	Mappings MappingCounter
}

// MappingCounter counts stored events for which rules for entities are meant. Count neither blocks nor fails.
type MappingCounter interface {
	Count(provider string, m event.Mapping)
}

// countMapping counts an event that was stored.
func (a *Activities) countMapping(ctx context.Context, provider string, m event.Mapping) {
	if m == event.Unmapped {
		reportUnmapped(ctx, provider)
	}
	if a.Mappings != nil && m != "" {
		a.Mappings.Count(provider, m)
	}
}

// DuplicateCounter counts redeliveries. Count neither blocks nor fails.
type DuplicateCounter interface {
	Count(d event.Duplicate)
}

// countDuplicate counts a redelivery that the ingress accepted as new, since only the database detected it.
func (a *Activities) countDuplicate(ctx context.Context, r event.Receipt, owner string, isRewritten bool) {
	if r.IsUndecidable() {
		tally.UndecidableDuplicate(ctx, r.Provider)
	}
	if a.Duplicates != nil && owner != "" && owner != r.ID {
		a.Duplicates.Count(event.Duplicate{
			Provider: r.Provider, Key: r.Key, Owner: owner, At: r.ReceivedAt, Rewritten: isRewritten,
		})
	}
}

// Catalogue returns the current definition of a provider.
type Catalogue interface {
	Lookup(name string) (*providers.Provider, bool)
}

// EventStore stores events and folds them into entities.
type EventStore interface {
	// Write writes as much of the event as scope says. It is idempotent. If it fails with EntitiesOnly, the result has how many
	// changes of the pages that are written have no effect. The error of this and the other stores is an *event.DecisionError if an
	// operator has decided about the event.
	Write(
		ctx context.Context, scope event.Scope, r event.Receipt, body []byte, p event.Parsed, run event.Run,
	) (event.Persisted, error)
}

// DeadLetterStore stores dead letters.
type DeadLetterStore interface {
	// RecordDeadLetter opens or updates the event's dead letter. The error is an *event.DuplicateError if another event owns the
	// key.
	RecordDeadLetter(ctx context.Context, d event.DeadLetter) error
	// DeadLetterID returns the dead letter that a run recorded; 0 if none, because its event was processed.
	DeadLetterID(ctx context.Context, eventID, runID string) (int64, error)
}

func currentRun(ctx context.Context) event.Run {
	execution := activity.GetInfo(ctx).WorkflowExecution
	return event.Run{WorkflowID: execution.ID, RunID: execution.RunID}
}
