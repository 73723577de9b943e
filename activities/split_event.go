package activities

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"

	"holdfast/event"
	"holdfast/providers/reading"
)

// SplitStore replaces events by those that they are split into.
type SplitStore interface {
	// Split puts the events into the inbox and replaces the whole one, in one transaction. The error is an *event.DecisionError once
	// that is done, however often it is called. ok is false, and nothing has changed, if the whole event doesn't go on: it is a
	// duplicate, or an operator must accept it first. An event that is processed stays so.
	Split(ctx context.Context, whole event.Receipt, run event.Run, parts []event.Received) (p event.Persisted, ok bool, err error)
}

// errSplitLater reports that the event changed between two transactions.
var errSplitLater = &event.Error{
	Class: event.ClassTransient, Code: "split_contended", Text: "the event changed while it was split",
}

// split is the persist step of an event that was accepted as a whole, and is several events by the current definition: the drain
// starts their runs.
func (a *Activities) split(ctx context.Context, r event.Receipt, body []byte, p event.Parsed) (event.Persisted, error) {
	provider, ok := a.Catalogue.Lookup(r.Provider)
	if !ok {
		return event.Persisted{}, errDefinitionChanged
	}
	items, splits, err := provider.SplitAgain(r, body)
	switch {
	case err != nil:
		return event.Persisted{}, err
	case !splits || len(items) == 0:
		return event.Persisted{}, errDefinitionChanged
	}
	persisted, ok, err := a.Splits.Split(ctx, r, currentRun(ctx), partsOf(r, items))
	if _, isDone := errors.AsType[*event.DecisionError](err); isDone {
		activity.GetLogger(ctx).Info("event.split", "provider", r.Provider, "event_id", r.ID, "events", len(items))
	}
	if ok || err != nil {
		return persisted, err
	}
	persisted, err = a.Events.Write(ctx, event.RowOnly, r, body, p, currentRun(ctx))
	if err == nil && !persisted.Duplicate {
		err = errSplitLater
	}
	return persisted, err
}

// errDefinitionChanged reports that the process has another definition than the one that parsed the event.
var errDefinitionChanged = &event.Error{
	Class: event.ClassFailed, Code: "definition_changed",
	Text: "the definition has changed since the event was parsed, and no longer splits it: replay it",
}

// partsOf returns the events as the ingress would accept them.
func partsOf(whole event.Receipt, items []reading.Item) []event.Received {
	parts := make([]event.Received, len(items))
	for n, item := range items {
		parts[n] = item.Received
		parts[n].Receipt = item.PartOf(whole, n)
	}
	return parts
}
