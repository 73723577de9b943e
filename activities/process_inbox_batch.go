package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"holdfast/event"
)

// BatchStore processes what waits in the bulk lane of the inbox.
type BatchStore interface {
	// ProcessBatch takes up to limit events, oldest first, and processes them in one transaction; what fails leaves the batch
	// for a workflow of its own.
	ProcessBatch(ctx context.Context, limit int, run event.Run, parse event.Parser) ([]event.Batched, error)
	// BatchedBy are the events that the run has processed before.
	BatchedBy(ctx context.Context, run event.Run) ([]event.Batched, error)
}

// The bounds of a run. A run costs Temporal as much as several transactions cost PostgreSQL, and an event is processed when its
// transaction is, so a run has several small ones. It must end well before its time as a local activity does, and its history
// names every event.
const (
	batchesPerRun = 6 // full ones; of smaller ones there are more
	runFor        = 700 * time.Millisecond
	// gatherFor lets events gather behind a batch that was less than half full. A second look that finds none ends the run.
	gatherFor = 20 * time.Millisecond
)

// BatchResult is what a batch leaves in the history: what became of each event.
type BatchResult struct {
	// Taken is the sum of the other numbers.
	Taken      int `json:"taken"`
	Processed  int `json:"processed,omitempty"`
	Ignored    int `json:"ignored,omitempty"`
	Duplicates int `json:"duplicates,omitempty"`
	// Left are the events that get a workflow of their own.
	Left int `json:"left,omitempty"`
	// Events has a line for each: outcome, workflow ID, event ID, type. The workflow ID is the key, and, of an event that has
	// left, that of the workflow which it gets; the reason stands behind its outcome.
	Events []string `json:"events,omitempty"`
}

// ProcessInboxBatch processes events of the bulk lane, each as ParseEvent, PersistEvent and UpsertEntities would: up to limit in
// one transaction, and one transaction after the other while events come.
//
// A run that is executed again, because nobody heard of the first time, takes nothing more and tells what it did.
func (a *Activities) ProcessInboxBatch(ctx context.Context, limit int) (BatchResult, error) {
	start, run := time.Now(), currentRun(ctx)
	all, err := a.Batches.BatchedBy(ctx, run)
	if err != nil || len(all) > 0 {
		return batchResult(all), err
	}
	for quiet := true; len(all) <= (batchesPerRun-1)*limit && time.Since(start) < runFor; {
		begun := time.Now()
		events, err := a.Batches.ProcessBatch(ctx, limit, run, SafeParser(a.Catalogue))
		if err != nil {
			return BatchResult{}, err // what has been committed, the next attempt tells
		}
		if len(events) == 0 && quiet {
			break
		}
		quiet = len(events) == 0
		reportBatch(ctx, events, time.Since(begun))
		for _, e := range events {
			if e.Outcome == event.OutcomeDuplicate {
				a.countDuplicate(ctx, e.Receipt, e.Owner)
			}
		}
		if all = append(all, events...); 2*len(events) < limit {
			_ = Pause(ctx, gatherFor) // an end of the context is the next batch's error
		}
	}
	return batchResult(all), nil
}

func batchResult(events []event.Batched) BatchResult {
	result := BatchResult{Taken: len(events), Events: make([]string, len(events))}
	for i, e := range events {
		outcome := string(e.Outcome)
		switch e.Outcome {
		case event.OutcomeIgnored:
			result.Ignored++
		case event.OutcomeDuplicate:
			result.Duplicates++
		case event.OutcomeLeft:
			result.Left++
			outcome = fmt.Sprintf("%s(%s)", outcome, event.CodeOf(e.Reason))
		default:
			result.Processed++
		}
		result.Events[i] = outcome + " " + e.Receipt.WorkflowID() + " " + e.Receipt.ID + " " + e.Type
	}
	return result
}

// reportBatch counts what a transaction has done, and times each of its events from its receipt, as a workflow does that has one.
func reportBatch(ctx context.Context, events []event.Batched, took time.Duration) {
	if len(events) == 0 {
		return // a look, and no batch
	}
	batchCounters().record(ctx, events, took)
	type kind struct{ provider, eventType, outcome string }
	now, timers := time.Now(), map[kind]func(time.Duration){}
	for _, e := range events {
		reportPossibleDuplicate(ctx, e.Receipt.Provider, e.PossibleDuplicateOf, e.Reason)
		if e.Outcome == event.OutcomeLeft {
			continue // its own workflow tells
		}
		reportWithoutEffect(ctx, e.Receipt.Provider, e.WithoutEffect)
		k := kind{e.Receipt.Provider, e.Type, string(e.Outcome)}
		if timers[k] == nil {
			tags := map[string]string{"provider": k.provider, "event_type": k.eventType, "outcome": k.outcome}
			timers[k] = activity.GetMetricsHandler(ctx).WithTags(tags).Timer(metricEventDuration).Record
		}
		timers[k](now.Sub(e.Receipt.ReceivedAt))
	}
}
