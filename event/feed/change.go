package feed

import (
	"errors"
	"time"
)

// Subject is the type of the changed object.
type Subject string

// The subjects of changes.
const (
	Event      Subject = "event"
	Entity     Subject = "entity"
	DeadLetter Subject = "dead_letter"
	Delivery   Subject = "delivery"
)

// Subjects lists all subjects.
func Subjects() []Subject { return []Subject{Event, Entity, DeadLetter, Delivery} }

// Action is the kind of change.
type Action string

// Actions on events. Each occurs once per event, regardless of retries and rebuilds.
const (
	Persisted Action = "persisted" // it has a row; its entities follow
	Processed Action = "processed"
	Ignored   Action = "ignored"
	// Replaced, Expunged and Discarded are decisions of an operator.
	Replaced Action = "replaced"
	Expunged Action = "expunged"
)

// Actions on entities.
const (
	Created Action = "created"
	Changed Action = "changed"
	// Deleted: the provider deleted it; the row stays as a tombstone.
	Deleted Action = "deleted"
	// Removed: it has no more events, or was merged into another entity.
	Removed Action = "removed"
)

// Actions on dead letters.
const (
	Opened Action = "opened"
	// FailedAgain: an open dead letter failed again.
	FailedAgain Action = "failed"
	Replaying   Action = "replaying"
	// Released: it is open again, because its run or replay stopped.
	Released  Action = "released"
	Resolved  Action = "resolved"
	Exhausted Action = "exhausted"
	Discarded Action = "discarded"
	Reopened  Action = "reopened"
)

// Actions on deliveries: an attempt ended, or an operator canceled it. A failed delivery also causes an action on its dead
// letter.
const (
	Delivered Action = "delivered"
	Failed    Action = "failed"
	Retrying  Action = "retrying"
	Canceled  Action = "canceled"
)

// Change is one entry of the feed. It contains no payload and no state.
type Change struct {
	Subject  Subject `json:"subject"`
	Action   Action  `json:"action"`
	Provider string  `json:"provider"`
	// Kind is the kind of the entity, or the event type for other subjects.
	Kind string `json:"kind,omitempty"`
	// ID is the ID of the event, entity (external ID) or dead letter, or EVENT/SUBSCRIPTION for a delivery.
	ID string `json:"id"`
	// Revision is the revision of an entity; it increases by 1 with each change. A change with a lower revision than a known one is
	// outdated.
	Revision int64 `json:"revision,omitempty"`
	// EventID is the event of a dead letter or delivery, or the latest event in an entity's state.
	EventID string `json:"event_id,omitempty" jsonschema:"format=uuid"`
	// SubscriptionID is set for deliveries and their dead letters.
	SubscriptionID int64 `json:"subscription_id,omitempty"`
	// Code is the error code of a delivery or dead letter.
	Code string `json:"code,omitempty"`

	// At is when it was written. Only readers set it and Cursor.
	At time.Time `json:"at,omitzero" jsonschema:"required"`
	// Cursor is the position after it.
	Cursor Cursor `json:"cursor,omitzero" jsonschema:"required"`
}

// Filter selects changes; empty fields match everything.
type Filter struct {
	Provider string
	Subject  Subject
	Kind     string
}

// Matches reports whether the filter selects the change.
func (f Filter) Matches(c Change) bool {
	return (f.Provider == "" || f.Provider == c.Provider) && (f.Subject == "" || f.Subject == c.Subject) &&
		(f.Kind == "" || f.Kind == c.Kind)
}

// Select returns the matching changes.
func (f Filter) Select(all []Change) []Change {
	some := make([]Change, 0, len(all))
	for _, c := range all {
		if f.Matches(c) {
			some = append(some, c)
		}
	}
	return some
}

// Page is a page of the feed.
type Page struct {
	Items []Change
	// Next is the position after it.
	Next Cursor
	// More: there may be more changes already.
	More bool
}

// ErrResync is returned if the feed no longer has a position: the database was restored and has a new epoch, or the changes after
// it have expired. Followers must read the current state again and continue at the end of the feed.
var ErrResync = errors.New("the feed no longer has this position: read the current state, then continue at the end")

// Lag is the delay of the feed. Each open transaction that writes delays the changes of later ones until it ends, so that readers
// miss nothing.
type Lag struct {
	// Behind is the age of the first unreadable change; 0 if there is none.
	Behind time.Duration
	// Blockers lists the oldest writing transactions that the role may see.
	Blockers []Blocker
}

// Blocker is an open transaction.
type Blocker struct {
	PID         int
	Database    string
	Role        string
	Application string
	Since       time.Time
	// Prepared is the name of a prepared transaction, which has no process.
	Prepared string
}
