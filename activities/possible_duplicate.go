package activities

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"holdfast/event"
)

// reportPossibleDuplicate counts an event with the same content as an earlier one, by what the persist step decided: accepted
// (and marked), held for an operator, or held because there were too many (flood). Without the first event there is nothing to
// count: it was counted before.
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

// reportUndecidable counts what the ingress counts where it knows of the duplicate.
func reportUndecidable(ctx context.Context, provider string) {
	count, err := otel.Meter("holdfast/activities").Int64Counter("holdfast_undecidable_duplicates_total",
		metric.WithDescription("Duplicates by content alone, within the span of the sender's retries, by provider."))
	if err == nil {
		count.Add(ctx, 1, metric.WithAttributes(attribute.String("provider", provider)))
	}
}
