package activities

import (
	"context"
	"fmt"
	"time"

	"holdfast/event"
)

// BatchStore processes events in the bulk lane of the inbox.
type BatchStore interface {
	// ProcessBatch processes up to limit events, oldest first, in one transaction. Events that fail get their own workflow.
	ProcessBatch(ctx context.Context, limit int, run event.Run, parse event.Parser) ([]event.Batched, error)
	// BatchedBy returns the events that the run has processed before.
	BatchedBy(ctx context.Context, run event.Run) ([]event.Batched, error)
}

// Gatherer gathers events for the next batch.
type Gatherer interface {
	// Gather waits until the next batch of a run should start. It returns false if the run should end: there is no event by the time
	// until.
	Gather(ctx context.Context, until time.Time) bool
}

// Limits of a run. A run costs Temporal as much as several transactions cost PostgreSQL, and an event is processed when its
// transaction commits, so a run has several small transactions. It must end well before the timeout of a local activity, and its
// history lists every event.
const (
	batchesPerRun = 6 // full batches; there may be more small ones
	runFor        = 700 * time.Millisecond
)

// BatchResult is the result of a run: the outcome of each event.
type BatchResult struct {
	// Claimed is the sum of the other counts.
	Claimed    int `json:"taken"`
	Processed  int `json:"processed,omitempty"`
	Ignored    int `json:"ignored,omitempty"`
	Duplicates int `json:"duplicates,omitempty"`
	// Left counts the events that get their own workflow.
	Left int `json:"left,omitempty"`
	// Events has a line for each event: outcome, workflow ID, event ID, type. The workflow ID contains the key; for an event that
	// left, it is the ID of its own workflow, and the reason follows the outcome.
	Events []string `json:"events,omitempty"`
}

// ProcessInboxBatch processes events of the bulk lane like ParseEvent, PersistEvent and UpsertEntities: up to limit in one
// transaction, and several transactions while events arrive. The second empty batch in a row ends the run.
//
// A retry whose first attempt has committed takes no more events and returns the result of the first attempt.
func (a *Activities) ProcessInboxBatch(ctx context.Context, limit int) (BatchResult, error) {
	start, run := time.Now(), currentRun(ctx)
	all, err := a.Batches.BatchedBy(ctx, run)
	if err != nil || len(all) > 0 {
		return batchResult(all), err
	}
	for quiet, more := true, true; more && len(all) <= (batchesPerRun-1)*limit; {
		begun := time.Now()
		events, err := a.Batches.ProcessBatch(ctx, limit, run, recoverPanics(a.parser()))
		if err != nil {
			return BatchResult{}, err // a retry returns what was committed
		}
		if len(events) == 0 && quiet {
			break
		}
		quiet = len(events) == 0
		reportBatch(ctx, events, time.Since(begun))
		for _, e := range events {
			if e.Outcome == event.OutcomeDuplicate {
				a.countDuplicate(ctx, e.Receipt, e.Owner, false)
			}
			if e.Outcome == event.OutcomeProcessed {
				a.countMapping(ctx, e.Receipt.Provider, e.Mapping)
			}
		}
		if all = append(all, events...); 2*len(events) < limit {
			more = a.Lane.Gather(ctx, start.Add(runFor))
		} else {
			more = time.Since(start) < runFor
		}
	}
	return batchResult(all), nil
}

func batchResult(events []event.Batched) BatchResult {
	result := BatchResult{Claimed: len(events), Events: make([]string, len(events))}
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
