package activities

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"holdfast/event"
)

// reportPossibleDuplicate counts an event with the same content as an earlier one, by what the persist step decided: accepted
// (and marked), held for an operator, or held because there were too many (flood).
func reportPossibleDuplicate(ctx context.Context, provider, first string, err error) {
	var result string
	var failure *event.Error
	switch {
	case errors.As(err, &failure) && failure.Code == "possible_duplicate":
		result = "held"
	case errors.As(err, &failure) && failure.Code == "repeat_flood":
		result = "flood"
	case err == nil && first != "":
		result = "accepted"
	default:
		return
	}
	count, err := otel.Meter("holdfast/activities").Int64Counter("holdfast_possible_duplicates_total",
		metric.WithDescription("Events with the same content as an earlier one, by provider and result (accepted, held, flood)."))
	if err == nil {
		count.Add(ctx, 1, metric.WithAttributes(attribute.String("provider", provider), attribute.String("result", result)))
	}
}
