package feed

import "time"

// Subject is what a change is of.
type Subject string

// The subjects.
const (
	Event      Subject = "event"
	Entity     Subject = "entity"
	DeadLetter Subject = "dead_letter"
	Delivery   Subject = "delivery"
)

// Subjects are all of them.
func Subjects() []Subject { return []Subject{Event, Entity, DeadLetter, Delivery} }

// Action is what has happened.
type Action string

// What happens to events: once each, however often they are retried or read again.
const (
	Persisted Action = "persisted" // it has its row, and its entities come later
	Processed Action = "processed"
	Ignored   Action = "ignored"
	// Replaced and Expunged, like Discarded, are what an operator has decided about it.
	Replaced Action = "replaced"
	Expunged Action = "expunged"
)

// What happens to entities.
const (
	Created Action = "created"
	Changed Action = "changed"
	// Deleted: a provider says that it is gone; the row stays as a tombstone.
	Deleted Action = "deleted"
	// Removed: no event is left that speaks of it, or it was merged into another one.
	Removed Action = "removed"
)

// What happens to dead letters.
const (
	Opened Action = "opened"
	// FailedAgain: the one that waits has failed once more.
	FailedAgain Action = "failed"
	Redriving   Action = "redriving"
	// Released: nobody runs it any more, and it waits again.
	Released  Action = "released"
	Resolved  Action = "resolved"
	Exhausted Action = "exhausted"
	Discarded Action = "discarded"
	Reopened  Action = "reopened"
)

// What happens to deliveries: an attempt has ended, or somebody has ended them. One that has failed has the action FailedAgain
// of a dead letter as well.
const (
	Delivered Action = "delivered"
	Failed    Action = "failed"
	Retrying  Action = "retrying"
	Canceled  Action = "canceled"
)

// Change is one thing that has happened. It holds no payload and no state.
type Change struct {
	Subject  Subject `json:"subject"`
	Action   Action  `json:"action"`
	Provider string  `json:"provider"`
	// Kind is that of an entity, and the type of the event of anything else.
	Kind string `json:"kind,omitempty"`
	// ID is that of the event, the entity (its external ID) or the dead letter; of a delivery it is EVENT/SUBSCRIPTION.
	ID string `json:"id"`
	// Revision is that of an entity: it rises by 1 with each change, from any number on.
	Revision int64 `json:"revision,omitempty"`
	// EventID is the event of a dead letter or a delivery, and the latest event that shows in the entity.
	EventID string `json:"event_id,omitempty"`
	// SubscriptionID is that of a delivery, and of the dead letter of one.
	SubscriptionID int64 `json:"subscription_id,omitempty"`
	// Code says why: of a delivery or a dead letter.
	Code string `json:"code,omitempty"`

	// At is when it was written, and Cursor the place behind it. Both are set by readers.
	At     time.Time `json:"at,omitzero"`
	Cursor Cursor    `json:"cursor,omitzero"`
}

// Filter says which changes are wanted; what is empty wants all.
type Filter struct {
	Provider string
	Subject  Subject
	Kind     string
}

// Wants says whether a change is wanted.
func (f Filter) Wants(c Change) bool {
	return (f.Provider == "" || f.Provider == c.Provider) && (f.Subject == "" || f.Subject == c.Subject) &&
		(f.Kind == "" || f.Kind == c.Kind)
}

// Sift gives the changes that are wanted.
func (f Filter) Sift(all []Change) []Change {
	some := make([]Change, 0, len(all))
	for _, c := range all {
		if f.Wants(c) {
			some = append(some, c)
		}
	}
	return some
}
