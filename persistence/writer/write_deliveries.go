package writer

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/subscriptions"
)

// bodiesOf reads bodies that were stored by an earlier transaction.
const bodiesOf = `SELECT id::text, raw_body FROM events WHERE id = ANY ($1::uuid[])`

// routeFirst routes an event before it has a transaction, which then need not wait for it. Events that are not routed by then, or
// were before a subscription has changed, are routed by their transaction. The error is that of ctx.
func (s *Store) routeFirst(ctx context.Context, w *write) error {
	s.subscriptions.Know(ctx)
	return s.route(ctx, w)
}

func (s *Store) routeBatched(ctx context.Context, e *batched) error {
	if e.Outcome == event.OutcomeLeft {
		return nil
	}
	return s.route(ctx, e.write)
}

func (s *Store) route(ctx context.Context, w *write) (err error) {
	switch {
	case outcomeOf(w.parsed) == event.OutcomeIgnored || w.isRebuild:
	case w.extent == entitiesOnly:
		w.routed, err = s.subscriptions.RouteWithoutBody(ctx, w.passing(nil))
	default:
		w.routed, err = s.subscriptions.Route(ctx, w.passing(w.row.body))
	}
	return err
}

func (w *write) passing(body []byte) subscriptions.Passing {
	return subscriptions.Passing{Receipt: w.receipt, Type: w.parsed.Type, OccurredAt: w.parsed.OccurredAt, Body: body}
}

// departs says whether this transaction makes the event processed for the first time. Nothing else makes deliveries: neither a
// retry, a reset or a redelivery, nor what a corrected definition reads in an event that was processed before, nor an import.
func (w *write) departs() bool {
	return w.owns() && w.finishes() && !w.isRebuild && w.brought == "" && w.found.status != event.StatusProcessed &&
		w.Outcome == event.OutcomeProcessed
}

// route notes where the events go that depart, by the subscriptions as they were when the transaction looked, or later.
func (t *writing) route(ctx context.Context) error {
	t.departs = nil
	departing := sift(t.events, (*write).departs)
	old := sift(departing, func(w *write) bool { return !w.routed.IsOf(t.head) })
	if len(old) > 0 {
		if err := t.routeAgain(ctx, old); err != nil {
			return err
		}
	}
	for _, w := range departing {
		if !w.routed.IsEmpty() {
			t.departs = append(t.departs, subscriptions.Departing{EventID: w.receipt.ID, Routed: w.routed})
		}
	}
	return nil
}

func (t *writing) routeAgain(ctx context.Context, ws []*write) error {
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
	for _, w := range ws {
		body, isStored := stored[w.receipt.ID]
		if !isStored {
			body = w.row.body
		}
		if w.routed, err = t.subscriptions.Route(ctx, w.passing(body)); err != nil {
			return err
		}
	}
	return nil
}

// readBodies reads the bodies that routing needs and the transaction does not have.
func (t *writing) readBodies(ctx context.Context, ws []*write) (map[string][]byte, error) {
	var ids []string
	for _, w := range ws {
		if w.extent == entitiesOnly && t.subscriptions.Reads(w.passing(nil)) {
			ids = append(ids, w.receipt.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	bodies := map[string][]byte{}
	b := &pgx.Batch{}
	b.Queue(bodiesOf, ids).Query(func(rows pgx.Rows) error {
		var id string
		var body []byte
		_, err := pgx.ForEachRow(rows, []any{&id, &body}, func() error { bodies[id] = body; body = nil; return nil })
		return err
	})
	return bodies, t.Send(ctx, b)
}
