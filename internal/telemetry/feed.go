package telemetry

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// ObserveFeed exports the lag of the change feed. It calls behind whenever metrics are collected.
func (t *Telemetry) ObserveFeed(behind func(context.Context) (time.Duration, error)) error {
	observe := func(ctx context.Context, o metric.Float64Observer) error {
		if t.ending.Load() {
			return nil
		}
		lag, err := behind(ctx)
		if err == nil {
			o.Observe(lag.Seconds())
		}
		return err
	}
	_, err := t.Meters.Meter("holdfast/telemetry").Float64ObservableGauge("holdfast_feed_lag_seconds", metric.WithUnit("s"),
		metric.WithDescription("How long the first change waits that the feed cannot show yet, since an older transaction is open."),
		metric.WithFloat64Callback(observe))
	if err != nil {
		return fmt.Errorf("observe the change feed: %w", err)
	}
	return nil
}
