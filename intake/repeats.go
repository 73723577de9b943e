package intake

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"holdfast/event"
	"holdfast/runs"
)

// repeats count events that came again.
type repeats struct{ undecidable metric.Int64Counter }

func newRepeats() (r repeats, err error) {
	r.undecidable, err = otel.Meter("holdfast/intake").Int64Counter("holdfast_undecidable_duplicates_total",
		metric.WithDescription("Duplicates by content alone, within the span of the sender's retries, by provider."))
	return r, err
}

// count counts an event that came again. One that is another event all the same is a conflict, and is kept as that.
func (r repeats) count(ctx context.Context, counter DuplicateCounter, receipt event.Receipt, s runs.Started) {
	if IsNew(s.State) || s.Conflict != nil || s.EventID == receipt.ID {
		return
	}
	if receipt.IsUndecidable() {
		r.undecidable.Add(ctx, 1, metric.WithAttributes(attribute.String("provider", receipt.Provider)))
	}
	if counter != nil {
		counter.Count(event.Duplicate{Provider: receipt.Provider, Key: receipt.Key, Owner: s.EventID, At: receipt.ReceivedAt})
	}
}
