package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// CountWaiting returns, by the name of a queue, the number of waiting items and the age of the oldest.
type CountWaiting func(context.Context) (waiting map[string]int64, age map[string]time.Duration, err error)

// ObserveInbox exports the number and age of events in the inbox, by lane.
func (t *Telemetry) ObserveInbox(count CountWaiting) error {
	meter := t.Meters.Meter("holdfast/telemetry")
	depth, first := meter.Int64ObservableGauge("holdfast_inbox_depth",
		metric.WithDescription("Acknowledged events that wait in the inbox, by lane."))
	oldest, second := meter.Float64ObservableGauge("holdfast_inbox_oldest_seconds", metric.WithUnit("s"),
		metric.WithDescription("How long the oldest event in the inbox has waited, by lane."))
	return errors.Join(first, second, t.observeWaiting(meter, "lane", count, depth, oldest))
}

// ObserveQueues exports the sizes of Temporal's task queues, by queue.
func (t *Telemetry) ObserveQueues(count CountWaiting) error {
	meter := t.Meters.Meter("holdfast/telemetry")
	backlog, first := meter.Int64ObservableGauge("holdfast_queue_backlog",
		metric.WithDescription("Tasks that wait in a task queue of Temporal, about."))
	oldest, second := meter.Float64ObservableGauge("holdfast_queue_oldest_seconds", metric.WithUnit("s"),
		metric.WithDescription("How long the oldest task of a queue has waited."))
	return errors.Join(first, second, t.observeWaiting(meter, "queue", count, backlog, oldest))
}

// observeWaiting counts whenever metrics are collected; if that fails, the gauges are left out and the other metrics stay.
func (t *Telemetry) observeWaiting(
	meter metric.Meter, label string, count CountWaiting, depth metric.Int64Observable, oldest metric.Float64Observable,
) error {
	_, err := meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		if t.ending.Load() {
			return nil
		}
		waiting, age, err := count(ctx)
		for place, n := range waiting {
			where := metric.WithAttributes(attribute.String(label, place))
			o.ObserveInt64(depth, n, where)
			o.ObserveFloat64(oldest, age[place].Seconds(), where)
		}
		return err
	}, depth, oldest)
	if err != nil {
		return fmt.Errorf("observe what waits by %s: %w", label, err)
	}
	return nil
}
