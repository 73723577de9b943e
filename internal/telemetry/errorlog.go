package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/metric"
)

// ObserveErrorLog exports the number of entries that the error log has dropped.
func (t *Telemetry) ObserveErrorLog(dropped func() int64) error {
	_, err := t.Meters.Meter("holdfast/telemetry").Int64ObservableCounter("holdfast_error_log_dropped_total",
		metric.WithDescription("Entries of the error log that were lost because it could not be written in time."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(dropped())
			return nil
		}))
	if err != nil {
		return fmt.Errorf("observe error log: %w", err)
	}
	return nil
}
