// Package tally counts what both the intake and the steps find out about events, so that each counter is created once, and keeps
// the sets of labels that all measurements use.
package tally

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// counters count nothing if they can't be created, which is no reason for an event to fail.
var counters = sync.OnceValue(func() (c struct{ conflicts, undecidable, rewritten metric.Int64Counter }) {
	meter := otel.Meter("holdfast/event")
	c.conflicts, _ = meter.Int64Counter("holdfast_event_conflicts_total",
		metric.WithDescription("Events whose key belongs to an event with other content, by provider."))
	c.undecidable, _ = meter.Int64Counter("holdfast_undecidable_duplicates_total",
		metric.WithDescription("Duplicates by content alone, within the span of the sender's retries, by provider."))
	c.rewritten, _ = meter.Int64Counter("holdfast_rewritten_duplicates_total",
		metric.WithDescription("Duplicates under a certain key whose body has other bytes and is the same JSON value, by provider."))
	return c
})

// Conflict counts an event whose key belongs to an event with other content.
func Conflict(ctx context.Context, provider string) { add(ctx, counters().conflicts, provider) }

// UndecidableDuplicate counts a duplicate that only its content shows, within the span of the sender's retries.
func UndecidableDuplicate(ctx context.Context, provider string) {
	add(ctx, counters().undecidable, provider)
}

// Rewritten counts a duplicate whose body has other bytes, and is the same JSON value.
func Rewritten(ctx context.Context, provider string) { add(ctx, counters().rewritten, provider) }

func add(ctx context.Context, c metric.Int64Counter, provider string) {
	c.Add(ctx, 1, Labels("provider", provider))
}
