package intake

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// drainMetrics counts the results for the events of the inbox.
type drainMetrics struct {
	drained metric.Int64Counter
}

func newDrainMetrics() (m drainMetrics, err error) {
	m.drained, err = otel.Meter("holdfast/intake").Int64Counter("holdfast_inbox_drained_total",
		metric.WithDescription("Events taken from the inbox, by provider and result (started, duplicate, confirmed, dead, failed)."))
	return m, err
}

func (m drainMetrics) count(ctx context.Context, provider, result string) {
	m.drained.Add(ctx, 1, metric.WithAttributes(
		attribute.String("provider", provider), attribute.String("result", result)))
}
