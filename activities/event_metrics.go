package activities

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"holdfast/event"
)

// eventCounters count nothing if they can't be created, which is no reason for a step to fail.
var eventCounters = sync.OnceValue(func() (c struct{ possibleDuplicates, withoutEffect metric.Int64Counter }) {
	meter := otel.Meter("holdfast/activities")
	c.possibleDuplicates, _ = meter.Int64Counter("holdfast_possible_duplicates_total",
		metric.WithDescription("Events with the same content as an earlier one, by provider and result (accepted, held, flood)."))
	c.withoutEffect, _ = meter.Int64Counter("holdfast_changes_without_effect_total",
		metric.WithDescription("Changes that came too late to show: the history of their entity is collapsed, by provider."))
	return c
})

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
	eventCounters().possibleDuplicates.Add(ctx, 1,
		metric.WithAttributes(attribute.String("provider", provider), attribute.String("result", result)))
}

// reportWithoutEffect counts changes whose part of the history was collapsed.
func reportWithoutEffect(ctx context.Context, provider string, n int) {
	if n > 0 {
		eventCounters().withoutEffect.Add(ctx, int64(n), metric.WithAttributes(attribute.String("provider", provider)))
	}
}
