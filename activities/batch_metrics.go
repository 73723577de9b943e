package activities

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"holdfast/event"
)

// metricEventDuration is also recorded by the workflow of a single event.
const metricEventDuration = "holdfast_event_duration"

// batchMetrics measure non-empty batches of the bulk lane.
type batchMetrics struct {
	events   metric.Int64Counter
	size     metric.Int64Histogram
	duration metric.Float64Histogram
}

// batchCounters ignores errors: a batch must not fail because of a metric.
var batchCounters = sync.OnceValue(func() (m batchMetrics) {
	meter := otel.Meter("holdfast/activities")
	m.events, _ = meter.Int64Counter("holdfast_batch_events_total",
		metric.WithDescription("Events that a batch of the bulk lane has taken, by outcome (left: for a workflow of their own)."))
	m.size, _ = meter.Int64Histogram("holdfast_batch_size",
		metric.WithExplicitBucketBoundaries(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000),
		metric.WithDescription("Events of one batch."))
	m.duration, _ = meter.Float64Histogram("holdfast_batch_duration_seconds", metric.WithUnit("s"),
		metric.WithDescription("Time of the transaction of one batch."))
	return m
})

func (m batchMetrics) record(ctx context.Context, events []event.Batched, took time.Duration) {
	outcomes := map[event.Outcome]int64{}
	for _, e := range events {
		outcomes[e.Outcome]++
	}
	for outcome, n := range outcomes {
		m.events.Add(ctx, n, metric.WithAttributes(attribute.String("outcome", string(outcome))))
	}
	m.size.Record(ctx, int64(len(events)))
	m.duration.Record(ctx, took.Seconds())
}
