package activities

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"holdfast/event"
)

// reportPossibleDuplicate counts an event with the same content as an earlier one. Its result is accepted (and marked), held for
// an operator, or flood (held because there were too many). first is empty if the event was counted before.
func reportPossibleDuplicate(ctx context.Context, provider, first string, err error) {
	if first == "" {
		return
	}
	result := "accepted"
	if err != nil {
		result = "held"
	}
	if event.CodeOf(err) == "repeat_flood" {
		result = "flood"
	}
	count, err := otel.Meter("holdfast/activities").Int64Counter("holdfast_possible_duplicates_total",
		metric.WithDescription("Events with the same content as an earlier one, by provider and result (accepted, held, flood)."))
	if err == nil {
		count.Add(ctx, 1, metric.WithAttributes(attribute.String("provider", provider), attribute.String("result", result)))
	}
}

// reportUndecidable counts duplicates that the ingress didn't detect in a metric of the ingress.
func reportUndecidable(ctx context.Context, provider string) {
	count, err := otel.Meter("holdfast/activities").Int64Counter("holdfast_undecidable_duplicates_total",
		metric.WithDescription("Duplicates by content alone, within the span of the sender's retries, by provider."))
	if err == nil {
		count.Add(ctx, 1, metric.WithAttributes(attribute.String("provider", provider)))
	}
}
