package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast/event"
)

// metricEventDuration measures the time from receipt to the end of the run, by provider, type and outcome. Temporal's log and
// metrics handlers are silent during a replay, so each event counts once. The process's metrics handler merges event types that
// no definition lists into one label.
const metricEventDuration = "holdfast_event_duration"

func reportProcessed(ctx workflow.Context, r event.Receipt, p event.Parsed, result ProcessResult) {
	took := report(ctx, r, p.Type, string(result.Outcome)).Milliseconds()
	fields := []any{
		"event_id", r.ID, "provider", r.Provider, "event_type", p.Type, "outcome", string(result.Outcome),
		"entities", len(p.Changes), "request_id", r.RequestID, "correlation_id", r.CorrelationID, "duration_ms", took,
	}
	if result.Owner != "" {
		fields = append(fields, "owner_id", result.Owner)
	}
	if v := result.Decision; v != nil {
		fields = append(fields, "decided_by", v.By, "decided_at", v.At, "decided_because", v.Reason, "replaced_by", v.ReplacedBy)
	}
	workflow.GetLogger(ctx).Info("event.processed", fields...)
}

func reportDeadLetter(ctx workflow.Context, r event.Receipt, f event.Failure) {
	event.LogDeadLetter(workflow.GetLogger(ctx), r, f, report(ctx, r, r.Type, "dead"))
}

func report(ctx workflow.Context, r event.Receipt, eventType, outcome string) time.Duration {
	took := workflow.Now(ctx).Sub(r.ReceivedAt)
	if r.Via == event.ViaRecover {
		return took // of an event that arrived too late by days, nothing can be concluded about the speed of workers
	}
	tags := map[string]string{"provider": r.Provider, "event_type": eventType, "outcome": outcome}
	workflow.GetMetricsHandler(ctx).WithTags(tags).Timer(metricEventDuration).Record(took)
	return took
}

func reportBatch(ctx workflow.Context, r BatchResult, took time.Duration) {
	if r.Claimed == 0 {
		return
	}
	workflow.GetLogger(ctx).Info("batch.processed",
		"events", r.Claimed, "processed", r.Processed, "ignored", r.Ignored, "duplicates", r.Duplicates, "left", r.Left,
		"workflow_id", workflow.GetInfo(ctx).WorkflowExecution.ID, "duration_ms", took.Milliseconds())
}
