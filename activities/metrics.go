package activities

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.temporal.io/sdk/activity"

	"holdfast/event"
	"holdfast/event/tally"
)

// metricEventDuration is also recorded by the workflow of a single event.
const metricEventDuration = "holdfast_event_duration"

type instrumentSet struct {
	executions, possibleDuplicates, withoutEffect, unmapped, omitted, batchEvents metric.Int64Counter
	batchSize                                                                     metric.Int64Histogram
	duration, batchDuration                                                       metric.Float64Histogram
}

// instruments ignores errors: a step must not fail because of a metric.
var instruments = sync.OnceValue(func() (m instrumentSet) {
	meter := otel.Meter("holdfast/activities")
	m.executions, _ = meter.Int64Counter("holdfast_step_executions_total",
		metric.WithDescription("Executions of a step, by step, lane (fast, durable) and outcome (ok or the error class)."))
	m.duration, _ = meter.Float64Histogram("holdfast_step_duration_seconds", metric.WithUnit("s"),
		metric.WithDescription("Time of one execution of a step, by step and lane."))
	m.possibleDuplicates, _ = meter.Int64Counter("holdfast_possible_duplicates_total",
		metric.WithDescription("Events with the same content as an earlier one, by provider and result (accepted, held, flood)."))
	m.withoutEffect, _ = meter.Int64Counter("holdfast_changes_without_effect_total",
		metric.WithDescription("Changes that came too late to show: the history of their entity is collapsed, by provider."))
	m.unmapped, _ = meter.Int64Counter("holdfast_events_unmapped_total",
		metric.WithDescription("Events for which rules for entities are meant, and in which none of them found one, by provider."))
	m.omitted, _ = meter.Int64Counter("holdfast_entities_omitted_total",
		metric.WithDescription("Entities that stored events name and didn't change, because of a limit, by provider."))
	m.batchEvents, _ = meter.Int64Counter("holdfast_batch_events_total",
		metric.WithDescription("Events that a batch of the bulk lane has claimed, by outcome (left: for a workflow of their own)."))
	m.batchSize, _ = meter.Int64Histogram("holdfast_batch_size",
		metric.WithExplicitBucketBoundaries(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000),
		metric.WithDescription("Events of one batch."))
	m.batchDuration, _ = meter.Float64Histogram("holdfast_batch_duration_seconds", metric.WithUnit("s"),
		metric.WithDescription("Time of the transaction of one batch."))
	return m
})

func reportStep(ctx context.Context, took time.Duration, err error) {
	info := activity.GetInfo(ctx)
	step, lane := info.ActivityType.Name, laneOf(info)
	outcome := "ok"
	if err != nil {
		outcome = string(event.ClassOf(err))
	}
	instruments().executions.Add(ctx, 1, tally.Labels("step", step, "lane", lane, "outcome", outcome))
	instruments().duration.Record(ctx, took.Seconds(), tally.Labels("step", step, "lane", lane))
}

func laneOf(info activity.Info) string {
	if info.IsLocalActivity {
		return "fast"
	}
	return "durable"
}

// reportPossibleDuplicate counts an event with the same content as an earlier one. Its result is accepted (and marked), held for
// an operator, or flood (held because there were too many). first is empty if the event was counted before.
func reportPossibleDuplicate(ctx context.Context, provider, first string, err error) {
	if first == "" {
		return
	}
	result := "accepted"
	if err != nil {
		result = "held"
	}
	if event.CodeOf(err) == "repeat_flood" {
		result = "flood"
	}
	instruments().possibleDuplicates.Add(ctx, 1, tally.Labels("provider", provider, "result", result))
}

// reportWithoutEffect counts changes whose part of the history was collapsed.
func reportWithoutEffect(ctx context.Context, provider string, n int) {
	if n > 0 {
		instruments().withoutEffect.Add(ctx, int64(n), tally.Labels("provider", provider))
	}
}

// reportUnmapped counts an event whose rules for entities all gave nothing.
func reportUnmapped(ctx context.Context, provider string) {
	instruments().unmapped.Add(ctx, 1, tally.Labels("provider", provider))
}

// reportOmitted counts entities that an event left out.
func reportOmitted(ctx context.Context, r event.Receipt, o *event.Omitted) {
	if o == nil {
		return
	}
	instruments().omitted.Add(ctx, int64(o.Count), tally.Labels("provider", r.Provider))
	activity.GetLogger(ctx).Warn("event.entities_omitted", "provider", r.Provider, "source", r.Source, "event_id", r.ID,
		"workflow_id", r.WorkflowID(), "entities", o.Count, "reason", string(o.Entities[0].Reason))
}

// reportBatch records the metrics of a transaction, and the duration of each event, as the workflow of a single event does.
func reportBatch(ctx context.Context, events []event.Batched, took time.Duration) {
	if len(events) == 0 {
		return // an empty batch isn't counted
	}
	instruments().batchSize.Record(ctx, int64(len(events)))
	instruments().batchDuration.Record(ctx, took.Seconds())
	type kind struct{ provider, eventType, outcome string }
	now, outcomes, timers := time.Now(), map[event.Outcome]int64{}, map[kind]func(time.Duration){}
	for _, e := range events {
		outcomes[e.Outcome]++
		reportPossibleDuplicate(ctx, e.Receipt.Provider, e.PossibleDuplicateOf, e.Reason)
		if e.Outcome == event.OutcomeLeft {
			continue // its own workflow reports it
		}
		reportWithoutEffect(ctx, e.Receipt.Provider, e.WithoutEffect)
		if e.Outcome == event.OutcomeProcessed {
			reportOmitted(ctx, e.Receipt, e.Omitted)
		}
		if e.Receipt.Via == event.ViaRecover {
			continue // it arrived too late by days, which says nothing about the speed of workers
		}
		k := kind{e.Receipt.Provider, e.Type, string(e.Outcome)}
		if timers[k] == nil {
			tags := map[string]string{"provider": k.provider, "event_type": k.eventType, "outcome": k.outcome}
			timers[k] = activity.GetMetricsHandler(ctx).WithTags(tags).Timer(metricEventDuration).Record
		}
		timers[k](now.Sub(e.Receipt.ReceivedAt))
	}
	for outcome, n := range outcomes {
		instruments().batchEvents.Add(ctx, n, tally.Labels("outcome", string(outcome)))
	}
}
