package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/metric"
)

// ObserveSchedules exports which Temporal schedules are failing. It calls read, which returns the state by schedule ID, whenever
// metrics are collected.
func (t *Telemetry) ObserveSchedules(read func(context.Context) (troubled map[string]bool, err error)) error {
	observe := func(ctx context.Context, o metric.Int64Observer) error {
		if t.ending.Load() {
			return nil
		}
		troubled, err := read(ctx)
		for id, is := range troubled {
			var value int64
			if is {
				value = 1
			}
			o.Observe(value, by("schedule", id))
		}
		return err
	}
	_, err := t.Meters.Meter("holdfast/telemetry").Int64ObservableGauge("holdfast_schedule_failing",
		metric.WithDescription("1 for a schedule that is paused, missing or overdue, or whose run has failed or hangs; else 0."),
		metric.WithInt64Callback(observe))
	if err != nil {
		return fmt.Errorf("observe schedules: %w", err)
	}
	return nil
}
