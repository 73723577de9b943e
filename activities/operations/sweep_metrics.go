package operations

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// sweepMetrics are counters rather than gauges: the next sweep may run in another process, and this one's last value would
// stay.
type sweepMetrics struct{ deadLetters, stuck metric.Int64Counter }

// sweepCounters falls back to counters that count nothing: a sweep must not fail because of metrics.
var sweepCounters = sync.OnceValue(func() (m sweepMetrics) {
	meter := otel.Meter("holdfast/activities")
	m.deadLetters, _ = meter.Int64Counter("holdfast_sweep_dead_letters_total",
		metric.WithDescription("Dead letters that a sweep has recorded for a run that could not, by the status of the run."))
	m.stuck, _ = meter.Int64Counter("holdfast_sweep_stuck_runs_total",
		metric.WithDescription("Open runs of events that a sweep found in trouble, by reason; a run counts in each sweep."))
	return m
})

func sweptDeadLetter(ctx context.Context, status string) {
	sweepCounters().deadLetters.Add(ctx, 1, metric.WithAttributes(attribute.String("status", status)))
}

func foundStuck(ctx context.Context, reason string, n int) {
	sweepCounters().stuck.Add(ctx, int64(n), metric.WithAttributes(attribute.String("reason", reason)))
}
