package event

import (
	"cmp"
	"strings"
	"time"
)

// Order positions a change in the history of its entity. Changes are applied in this order, whatever the order in which they
// arrive: by version (none comes first), then event time, then event ID.
type Order struct {
	Version    *int64
	OccurredAt time.Time
	EventID    string
}

// OrderedChange is a change with its order.
type OrderedChange struct {
	Order  Order
	Change Change
}

// TimePrecision is the precision of event times in Order: PostgreSQL stores microseconds.
const TimePrecision = time.Microsecond

// OrderOf returns the order of a change that an event makes.
func OrderOf(r Receipt, p Parsed, c Change) Order {
	at := p.OccurredAt
	if !c.At.IsZero() {
		at = c.At
	}
	return Order{Version: c.Version, OccurredAt: at.UTC().Truncate(TimePrecision), EventID: r.ID}
}

// Compare returns a negative number if o comes before other, a positive one if after, and 0 only for changes of one event. Times
// are compared at TimePrecision, so that storing them doesn't change the order. Event IDs are compared as text, which for
// lower-case UUIDs is byte order.
func (o Order) Compare(other Order) int {
	if c := compareVersions(o.Version, other.Version); c != 0 {
		return c
	}
	if c := o.OccurredAt.Truncate(TimePrecision).Compare(other.OccurredAt.Truncate(TimePrecision)); c != 0 {
		return c
	}
	return strings.Compare(o.EventID, other.EventID)
}

// compareVersions sorts nil first.
func compareVersions(a, b *int64) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	default:
		return cmp.Compare(*a, *b)
	}
}
