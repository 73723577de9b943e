package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// ObserveDeadLetters exports the number of open dead letters by provider. It calls count whenever metrics are collected, so
// count should cache. If count fails, the gauge is left out and the other metrics stay.
func (t *Telemetry) ObserveDeadLetters(count func(context.Context) (map[string]int64, error)) error {
	observe := func(ctx context.Context, o metric.Int64Observer) error {
		if t.ending.Load() {
			return nil
		}
		open, err := count(ctx)
		for provider, n := range open {
			o.Observe(n, metric.WithAttributes(attribute.String("provider", provider)))
		}
		return err
	}
	_, err := t.Meters.Meter("holdfast/telemetry").Int64ObservableGauge("holdfast_dead_letters_open",
		metric.WithDescription("Dead letters that need an operator, by provider."),
		metric.WithInt64Callback(observe))
	if err != nil {
		return fmt.Errorf("observe dead letters: %w", err)
	}
	return nil
}
