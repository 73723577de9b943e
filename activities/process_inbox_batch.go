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
	// for a workflow of its own. A run has one batch, however often this is called for it.
	ProcessBatch(ctx context.Context, limit int, run event.Run, parse event.Parser) (event.Batch, error)
}

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

// ProcessInboxBatch processes up to limit events of the bulk lane, each as ParseEvent, PersistEvent and UpsertEntities would.
func (a *Activities) ProcessInboxBatch(ctx context.Context, limit int) (BatchResult, error) {
	start := time.Now()
	b, err := a.Batches.ProcessBatch(ctx, limit, currentRun(ctx), a.parseSafely)
	if err != nil {
		return BatchResult{}, err
	}
	result := batchResult(b)
	if !b.Again {
		reportBatch(ctx, b, result, time.Since(start))
	}
	return result, nil
}

// parseSafely keeps a definition that panics over one event from failing the others.
func (a *Activities) parseSafely(r event.Receipt, body []byte) (p event.Parsed, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = panicError(value)
		}
	}()
	return a.parse(r, body)
}

func batchResult(b event.Batch) BatchResult {
	result := BatchResult{Taken: len(b.Events), Events: make([]string, len(b.Events))}
	for i, e := range b.Events {
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

// reportBatch counts what the batch has done, and times each of its events from its receipt, as a workflow does that has one.
func reportBatch(ctx context.Context, b event.Batch, result BatchResult, took time.Duration) {
	if result.Taken == 0 {
		return
	}
	batchCounters().record(ctx, result, took)
	type kind struct{ provider, outcome string }
	now, timers := time.Now(), map[kind]func(time.Duration){}
	for _, e := range b.Events {
		if e.Outcome == event.OutcomeLeft {
			continue // its own workflow tells
		}
		k := kind{e.Receipt.Provider, string(e.Outcome)}
		if timers[k] == nil {
			tags := map[string]string{"provider": k.provider, "outcome": k.outcome}
			timers[k] = activity.GetMetricsHandler(ctx).WithTags(tags).Timer(metricEventDuration).Record
		}
		timers[k](now.Sub(e.Receipt.ReceivedAt))
	}
}
