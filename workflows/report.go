package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast/event"
)

// metricEventDuration times an event from its receipt to the end of its run, by provider and outcome. Temporal's handlers
// for logs and metrics keep silent during a replay, so each end is told once.
const metricEventDuration = "holdfast_event_duration"

func reportProcessed(ctx workflow.Context, r event.Receipt, p event.Parsed, result ProcessResult) {
	took := report(ctx, r, string(result.Outcome))
	workflow.GetLogger(ctx).Info("event.processed",
		"event_id", r.ID, "provider", r.Provider, "event_type", p.Type, "outcome", string(result.Outcome),
		"entities", len(p.Changes), "request_id", r.RequestID, "correlation_id", r.CorrelationID, "duration_ms", took)
}

func reportDeadLetter(ctx workflow.Context, r event.Receipt, f event.Failure) {
	took := report(ctx, r, "dead")
	workflow.GetLogger(ctx).Error("event.dead_lettered",
		"event_id", r.ID, "provider", r.Provider, "event_type", r.Type, "outcome", "dead",
		"step", string(f.Step), "error_class", string(f.Class), "error_code", f.Code, "error", f.Message,
		"attempts", f.Attempts, "request_id", r.RequestID, "correlation_id", r.CorrelationID, "duration_ms", took)
}

func report(ctx workflow.Context, r event.Receipt, outcome string) (milliseconds int64) {
	took := workflow.Now(ctx).Sub(r.ReceivedAt)
	tags := map[string]string{"provider": r.Provider, "outcome": outcome}
	workflow.GetMetricsHandler(ctx).WithTags(tags).Timer(metricEventDuration).Record(took)
	return int64(took / time.Millisecond)
}

func reportBatch(ctx workflow.Context, r BatchResult, took time.Duration) {
	if r.Taken == 0 {
		return
	}
	workflow.GetLogger(ctx).Info("batch.processed",
		"events", r.Taken, "processed", r.Processed, "ignored", r.Ignored, "duplicates", r.Duplicates, "left", r.Left,
		"workflow_id", workflow.GetInfo(ctx).WorkflowExecution.ID, "duration_ms", took.Milliseconds())
}
