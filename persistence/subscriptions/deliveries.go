package subscriptions

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"holdfast/delivery"
	"holdfast/persistence/outbox"
	"holdfast/persistence/postgres"
)

// Match is an event with its matches.
type Match struct {
	EventID string
	Routed  Routed
	// Row returns the row that the same transaction inserts; nil if it exists already, or gets its body from elsewhere.
	Row func() *Row
}

// Deliveries are those of the events of one transaction.
type Deliveries struct {
	store  *Store
	events []Match
	// reserved, target and message are set if the only delivery can be attempted without the queue. It is then queued as direct.
	reserved delivery.Reservation
	target   delivery.Target
	message  delivery.Message
	direct   *outbox.Direct
}

// DeliverThrough sets the dispatcher of this process.
func (s *Store) DeliverThrough(r delivery.Reserver) { s.reserver.Store(&r) }

// NewDeliveries prepares the deliveries of events, just before the last statements of their transaction. A transaction with a
// single delivery reserves a slot for its attempt. The caller must call Release at the end, also after a failure.
func (s *Store) NewDeliveries(events []Match) *Deliveries {
	d := &Deliveries{store: s, events: events}
	if len(events) != 1 || events[0].Routed.unmatched != "" {
		return d
	}
	wanted, ordered, _ := events[0].Routed.split()
	reserver := s.reserver.Load()
	if len(wanted) != 1 || len(ordered) > 0 || reserver == nil {
		return d
	}
	row := events[0].Row()
	if row == nil {
		return d
	}
	if d.reserved = (*reserver).Reserve(wanted[0].DestinationID, len(row.Body)); d.reserved != nil && !d.prepare(wanted[0], row) {
		d.Release()
	}
	return d
}

// prepare makes what the attempt needs, and reports whether it may be made without the queue.
func (d *Deliveries) prepare(hit delivery.Hit, row *Row) bool {
	var unread, unmade error
	d.target, unread = d.store.target(hit.SubscriptionID)
	d.message, unmade = row.message()
	d.message.OccurredAt = d.message.OccurredAt.UTC().Truncate(time.Microsecond) // as PostgreSQL stores it
	to := d.target.Destination
	return unread == nil && unmade == nil && to.Rate == nil && to.ID == hit.DestinationID
}

// Queue adds the deliveries to the transaction, which must commit next.
func (d *Deliveries) Queue(b *pgx.Batch) {
	var open, sorted, failed pairs
	for _, e := range d.events {
		if e.Routed.unmatched != "" {
			b.Queue(queueUnmatched, e.EventID, e.Routed.unmatched)
		}
		wanted, ordered, broken := e.Routed.split()
		sorted.add(e.EventID, ordered) // fanned out later, they would come after those of later events
		if failed.add(e.EventID, broken); len(wanted) == 0 {
			continue
		}
		if len(wanted) <= maxOfEvent && len(open.events)+len(wanted) <= maxOfGroup {
			open.add(e.EventID, wanted)
			continue
		}
		b.Queue(queueFanOut, e.EventID, postgres.Column(wanted, func(h delivery.Hit) int64 { return h.SubscriptionID }))
	}
	failed.queueFailed(b)
	if len(sorted.events) > 0 {
		b.Queue(queueOrdered, sorted.events, sorted.subscriptions, sorted.destinations, sorted.keys)
	}
	switch {
	case d.reserved != nil:
		key := delivery.Key{EventID: d.events[0].EventID, SubscriptionID: d.target.Subscription.ID}
		d.direct = outbox.QueueDirect(b, key, d.target.Destination, d.events[0].Routed.version)
	case len(open.events) > 0:
		b.Queue(queueDeliveries, open.events, open.subscriptions, open.destinations)
	}
}

// Committed starts the attempt if the commit has leased the delivery, and otherwise notifies dispatchers in this process. It
// doesn't wait; if there are none, other dispatchers find the deliveries.
func (d *Deliveries) Committed() {
	if d.direct != nil && d.direct.IsLeased {
		d.reserved.Start(d.direct.Job, d.target, d.message)
		d.reserved = nil
		return
	}
	d.Release() // first, or the lease that is woken has no slot for the delivery
	ids := map[int64]struct{}{}
	for _, e := range d.events {
		wanted, ordered, _ := e.Routed.split()
		if len(ordered) > 0 {
			d.store.outbox.SignalSort()
		}
		if len(wanted) > maxOfEvent {
			d.store.outbox.Signal() // there are fan-outs
			continue
		}
		for _, h := range wanted {
			ids[h.DestinationID] = struct{}{}
		}
	}
	if len(ids) > 0 {
		d.store.outbox.MadeDue(slices.Collect(maps.Keys(ids))...)
	}
}

// Failed releases the lease of a commit whose outcome is unknown, as soon as it can be seen. Nothing is sent. If the server has
// refused a statement, there is no lease.
func (d *Deliveries) Failed(err error) {
	var refused *pgconn.PgError
	isRefused := errors.As(err, &refused) && refused.SeverityUnlocalized == "ERROR"
	if d.direct != nil && (d.direct.IsLeased || !isRefused) {
		d.store.outbox.LostDirect(d.direct)
	}
}

// Release gives the slot back if no attempt has started.
func (d *Deliveries) Release() {
	if d.reserved != nil {
		d.reserved.Free()
		d.reserved = nil
	}
}
