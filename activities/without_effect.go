package activities

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// reportWithoutEffect counts changes whose part of the history was collapsed.
func reportWithoutEffect(ctx context.Context, provider string, n int) {
	if n == 0 {
		return
	}
	count, err := otel.Meter("holdfast/activities").Int64Counter("holdfast_changes_without_effect_total",
		metric.WithDescription("Changes that came too late to show: the history of their entity is collapsed, by provider."))
	if err == nil {
		count.Add(ctx, int64(n), metric.WithAttributes(attribute.String("provider", provider)))
	}
}
