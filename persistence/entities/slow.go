package entities

import (
	"slices"

	"holdfast/event"
)

// SlowError reports that out-of-order events took too long to fold.
type SlowError struct{ events []string }

// errSlow is not an error of the event: on its own it has more time.
var errSlow = &event.Error{
	Class: event.ClassTransient, Code: "slow_fold", Text: "an event is so far out of order that folding its entity takes too long for a group",
}

// Error implements error.
func (*SlowError) Error() string { return errSlow.Error() }

// Unwrap returns the class and the code.
func (*SlowError) Unwrap() error { return errSlow }

// IsOf reports whether an event is one of the out-of-order ones. If those aren't known, every event may be.
func (e *SlowError) IsOf(eventID string) bool {
	return len(e.events) == 0 || slices.Contains(e.events, eventID)
}

// slowError names the events whose changes to slow entities are out of order and, for an entity that gets the links of another,
// all events that touch it.
func (t Touches) slowError(slow []*refold, locked map[event.EntityRef]*Life) *SlowError {
	e := &SlowError{}
	for _, a := range slow {
		of, l := t[a.EntityRef], locked[a.EntityRef]
		for _, c := range of.Come {
			if of.Moved.EventID != "" || l == nil || !l.appends(c.Order) {
				e.events = append(e.events, c.Order.EventID)
			}
		}
		for _, c := range of.Gone {
			e.events = append(e.events, c.Order.EventID)
		}
	}
	return e
}
