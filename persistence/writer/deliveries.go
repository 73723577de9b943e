package writer

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
	"holdfast/persistence/subscriptions"
)

// bodiesOf reads bodies stored by an earlier transaction.
const bodiesOf = `SELECT id::text, raw_body FROM events WHERE id = ANY ($1::uuid[])`

// route routes an event before its transaction locks anything: a filter may take a few milliseconds. The transaction routes
// events that aren't routed by then, or whose subscriptions have changed since. Filters are evaluated until isSpent. The only
// error is ctx's.
func (s *Store) route(ctx context.Context, w *eventWrite, isSpent func() bool) (err error) {
	switch {
	case !w.folds() || outcomeOf(w.parsed) == event.OutcomeIgnored:
	case w.scope == event.EntitiesOnly:
		w.routed, err = s.subscriptions.RouteWithoutBody(ctx, w.event(nil), isSpent)
	default:
		w.routed, err = s.subscriptions.Route(ctx, w.event(w.row.body), isSpent)
	}
	return err
}

func (w *eventWrite) event(body []byte) subscriptions.Event {
	return subscriptions.Event{Receipt: w.receipt, Type: w.parsed.Type, OccurredAt: w.parsed.OccurredAt, Body: body}
}

// createsDeliveries reports whether this transaction makes the event processed for the first time. Retries, resets, redeliveries,
// imports, new parses of processed events, and recoveries that say so create no deliveries.
func (w *eventWrite) createsDeliveries() bool {
	return w.owns() && w.finishes() && !w.isRebuild && w.imported == "" && !w.receipt.Undelivered &&
		w.current.status != event.StatusProcessed && w.Outcome == event.OutcomeProcessed
}

// route sets the subscriptions of events that create deliveries, as of the transaction's reads or later.
func (t *transaction) route(ctx context.Context) error {
	t.matches = nil
	creating := filter(t.events, (*eventWrite).createsDeliveries)
	old := filter(creating, func(w *eventWrite) bool { return !w.routed.IsOf(t.head) })
	if len(old) > 0 {
		if err := t.routeAgain(ctx, old); err != nil {
			return err
		}
	}
	for _, w := range creating {
		if !w.routed.IsEmpty() {
			t.matches = append(t.matches, subscriptions.Match{EventID: w.receipt.ID, Routed: w.routed, Row: w.insertedRow})
		}
	}
	return nil
}

// insertedRow returns the row that the transaction inserts with its body; otherwise nil.
func (w *eventWrite) insertedRow() *subscriptions.Row {
	if w.scope == event.EntitiesOnly || w.current.status != "" || w.isLarge() {
		return nil
	}
	return &subscriptions.Row{
		Receipt: []byte(w.row.receipt), Headers: []byte(w.row.headers), Type: w.eventType(), OccurredAt: w.parsed.OccurredAt,
		Body: w.row.body, PossibleDuplicateOf: w.PossibleDuplicateOf,
	}
}

func (t *transaction) routeAgain(ctx context.Context, ws []*eventWrite) error {
	before := make([]subscriptions.Routed, len(ws))
	for i, w := range ws {
		before[i] = w.routed
	}
	if err := t.subscriptions.Follow(ctx, t.Transaction, t.head, before); err != nil {
		return err
	}
	stored, err := t.readBodies(ctx, ws)
	if err != nil {
		return err
	}
	isSpent := t.subscriptions.FilterBudget(len(ws))
	for _, w := range ws {
		body, isStored := stored[w.receipt.ID]
		if !isStored {
			body = w.row.body
		}
		if w.routed, err = t.subscriptions.Route(ctx, w.event(body), isSpent); err != nil {
			return err
		}
	}
	return nil
}

// readBodies reads the bodies that routing needs and the transaction doesn't have.
func (t *transaction) readBodies(ctx context.Context, ws []*eventWrite) (map[string][]byte, error) {
	var ids []string
	for _, w := range ws {
		if w.scope == event.EntitiesOnly && t.subscriptions.Reads(w.event(nil)) {
			ids = append(ids, w.receipt.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	bodies := map[string][]byte{}
	b := &pgx.Batch{}
	var id string
	var body []byte
	b.Queue(bodiesOf, ids).Query(postgres.ForEach([]any{&id, &body}, func() { bodies[id] = body; body = nil }))
	return bodies, t.Send(ctx, b)
}
