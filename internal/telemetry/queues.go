package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// ObserveQueues makes the sizes of Temporal's task queues a metric: count gives, by queue, about how many tasks wait and for how
// long the oldest has. It is asked whenever metrics are collected; where it fails, the gauges are left out and the other metrics
// stay.
func (t *Telemetry) ObserveQueues(
	count func(context.Context) (backlog map[string]int64, age map[string]time.Duration, err error),
) error {
	meter := t.Meters.Meter("holdfast/telemetry")
	waiting, first := meter.Int64ObservableGauge("holdfast_queue_backlog",
		metric.WithDescription("Tasks that wait in a task queue of Temporal, about."))
	oldest, second := meter.Float64ObservableGauge("holdfast_queue_oldest_seconds", metric.WithUnit("s"),
		metric.WithDescription("How long the oldest task of a queue has waited."))
	if err := errors.Join(first, second); err != nil {
		return fmt.Errorf("observe task queues: %w", err)
	}
	_, err := meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		if t.ending.Load() {
			return nil
		}
		backlog, age, err := count(ctx)
		for queue, n := range backlog {
			label := metric.WithAttributes(attribute.String("queue", queue))
			o.ObserveInt64(waiting, n, label)
			o.ObserveFloat64(oldest, age[queue].Seconds(), label)
		}
		return err
	}, waiting, oldest)
	if err != nil {
		return fmt.Errorf("observe task queues: %w", err)
	}
	return nil
}
