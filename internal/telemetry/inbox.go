package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// ObserveInbox makes what waits in the inbox a metric: count gives, by lane, how many events wait and for how long the oldest
// has. It is asked whenever metrics are collected; where it fails, the gauges are left out and the other metrics stay.
func (t *Telemetry) ObserveInbox(
	count func(context.Context) (depth map[string]int64, age map[string]time.Duration, err error),
) error {
	meter := t.Meters.Meter("holdfast/telemetry")
	waiting, first := meter.Int64ObservableGauge("holdfast_inbox_depth",
		metric.WithDescription("Acknowledged events that wait in the inbox, by lane."))
	oldest, second := meter.Float64ObservableGauge("holdfast_inbox_oldest_seconds", metric.WithUnit("s"),
		metric.WithDescription("How long the oldest event in the inbox has waited, by lane."))
	if err := errors.Join(first, second); err != nil {
		return fmt.Errorf("observe the inbox: %w", err)
	}
	_, err := meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		if t.ending.Load() {
			return nil
		}
		depth, age, err := count(ctx)
		for lane, n := range depth {
			label := metric.WithAttributes(attribute.String("lane", lane))
			o.ObserveInt64(waiting, n, label)
			o.ObserveFloat64(oldest, age[lane].Seconds(), label)
		}
		return err
	}, waiting, oldest)
	if err != nil {
		return fmt.Errorf("observe the inbox: %w", err)
	}
	return nil
}
