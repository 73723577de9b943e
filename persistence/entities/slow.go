package entities

import (
	"slices"

	"holdfast/event"
)

// SlowError says that entities were not folded in the time that there was, because of events that come late.
type SlowError struct{ events []string }

// errSlow is no event's fault: alone, it has more time.
var errSlow = &event.Error{
	Class: event.ClassTransient, Code: "slow_fold", Text: "an event is so late that folding its entity takes too long for a group",
}

// Error implements error.
func (*SlowError) Error() string { return errSlow.Error() }

// Unwrap gives the class and the code.
func (*SlowError) Unwrap() error { return errSlow }

// IsOf says whether an event is one of those that come late. Where it is not known which do, each may be.
func (e *SlowError) IsOf(eventID string) bool {
	return len(e.events) == 0 || slices.Contains(e.events, eventID)
}

// slowError names the events whose changes of slow entities are late, and, where an entity takes over the changes of another, all
// events that touch it.
func (t Touches) slowError(slow []*late, held map[event.EntityRef]*Life) *SlowError {
	e := &SlowError{}
	for _, a := range slow {
		of, l := t[a.EntityRef], held[a.EntityRef]
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
