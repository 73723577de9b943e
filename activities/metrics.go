package activities

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.temporal.io/sdk/activity"

	"holdfast/event"
)

type stepMetrics struct {
	executions metric.Int64Counter
	duration   metric.Float64Histogram
}

func newStepMetrics() (m stepMetrics, err error) {
	meter := otel.Meter("holdfast/activities")
	m.executions, err = meter.Int64Counter("holdfast_step_executions_total",
		metric.WithDescription("Executions of a step, by step, lane (fast, durable) and outcome (ok or the error class)."))
	if err != nil {
		return m, err
	}
	m.duration, err = meter.Float64Histogram("holdfast_step_duration_seconds", metric.WithUnit("s"),
		metric.WithDescription("Time of one execution of a step, by step and lane."))
	return m, err
}

func (m stepMetrics) record(ctx context.Context, took time.Duration, err error) {
	info := activity.GetInfo(ctx)
	step := attribute.String("step", info.ActivityType.Name)
	lane := attribute.String("lane", laneOf(info))
	outcome := "ok"
	if err != nil {
		outcome = string(event.ClassOf(err))
	}
	m.executions.Add(ctx, 1, metric.WithAttributes(step, lane, attribute.String("outcome", outcome)))
	m.duration.Record(ctx, took.Seconds(), metric.WithAttributes(step, lane))
}

func laneOf(info activity.Info) string {
	if info.IsLocalActivity {
		return "fast"
	}
	return "durable"
}
