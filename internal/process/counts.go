package process

import (
	"context"
	"time"

	"holdfast/activities"
	"holdfast/delivery/dispatch"
	"holdfast/event"
)

// eventCounter counts the results of events for the charts of the console. It neither blocks nor fails.
type eventCounter interface {
	Count(provider string, acceptedAt time.Time, outcome event.Outcome)
	CountDead(provider string, acceptedAt time.Time)
}

// startCounters starts the counters of a process with workers. They are stopped after the workers, so that nothing is lost at a
// regular end.
func (p *process) startCounters() {
	of := p.store.Minutes
	events, mappings, attempts := of.NewEventCounter(), of.NewMappingCounter(), of.NewAttemptCounter()
	p.onStop("count of events", events.Stop)
	p.onStop("count of mapped events", mappings.Stop)
	p.onStop("count of attempts", attempts.Stop)
	p.counts = workerCounters{events, mappings, attempts}
}

// workerCounters are the counters of a process with workers.
type workerCounters struct {
	events   eventCounter
	mappings activities.MappingCounter
	attempts dispatch.AttemptCounter
}

// countedEvents counts the events that a store finishes. A run that is reset counts its event again.
type countedEvents struct {
	activities.EventStore

	counter eventCounter
}

func (s countedEvents) Write(
	ctx context.Context, scope event.Scope, r event.Receipt, body []byte, p event.Parsed, run event.Run,
) (event.Persisted, error) {
	persisted, err := s.EventStore.Write(ctx, scope, r, body, p, run)
	switch {
	case err != nil || persisted.Duplicate:
	case persisted.Processed:
		s.counter.Count(r.Provider, acceptedAt(r), event.OutcomeProcessed)
	case p.Outcome == event.OutcomeIgnored && p.Splits == 0:
		s.counter.Count(r.Provider, acceptedAt(r), event.OutcomeIgnored)
	}
	return persisted, err
}

// countedBatches counts the events that batches finish. Those that leave a batch are counted where their own run ends.
type countedBatches struct {
	activities.BatchStore

	counter eventCounter
}

func (s countedBatches) ProcessBatch(
	ctx context.Context, limit int, run event.Run, parse event.Parser,
) ([]event.Batched, error) {
	events, err := s.BatchStore.ProcessBatch(ctx, limit, run, parse)
	if err == nil {
		for _, e := range events {
			s.counter.Count(e.Receipt.Provider, acceptedAt(e.Receipt), e.Outcome)
		}
	}
	return events, err
}

// countedDeadLetters counts the dead letters that a store records: one for each run that failed.
type countedDeadLetters struct {
	activities.DeadLetterStore

	counter eventCounter
}

func (s countedDeadLetters) RecordDeadLetter(ctx context.Context, d event.DeadLetter) error {
	err := s.DeadLetterStore.RecordDeadLetter(ctx, d)
	if err == nil {
		s.counter.CountDead(d.Receipt.Provider, acceptedAt(d.Receipt))
	}
	return err
}

// acceptedAt returns the time by which lists order an event.
func acceptedAt(r event.Receipt) time.Time {
	if at := event.AcceptedAt(r.ID); !at.IsZero() {
		return at
	}
	return r.ReceivedAt
}
