package event

import (
	"cmp"
	"strings"
	"time"
)

// Order is the place of a change in the life of its entity. Changes are applied in this order, whatever the order in which
// they arrive: by version (none comes before any), then the time of the event, then the event's ID.
type Order struct {
	Version    *int64
	OccurredAt time.Time
	EventID    string
}

// OrderedChange is a change with its place in the life of its entity.
type OrderedChange struct {
	Order  Order
	Change Change
}

// TimePrecision is the finest step of time that orders changes: PostgreSQL keeps microseconds.
const TimePrecision = time.Microsecond

// OrderOf is the place of a change that the event with this receipt makes.
func OrderOf(r Receipt, p Parsed, c Change) Order {
	return Order{Version: c.Version, OccurredAt: p.OccurredAt.UTC().Truncate(TimePrecision), EventID: r.ID}
}

// Compare is negative if o comes before other, positive if after, and 0 only for changes of one event. Times are
// compared at TimePrecision, whatever they carry, so that the order is the same before and after they have been
// stored. Event IDs are compared as text, which for UUIDs in lower case is the order of their bytes.
func (o Order) Compare(other Order) int {
	if c := compareVersions(o.Version, other.Version); c != 0 {
		return c
	}
	if c := o.OccurredAt.Truncate(TimePrecision).Compare(other.OccurredAt.Truncate(TimePrecision)); c != 0 {
		return c
	}
	return strings.Compare(o.EventID, other.EventID)
}

// compareVersions puts none before any.
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
