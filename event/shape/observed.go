package shape

import "time"

// Observed is a type of a provider's events, and what was observed of it.
type Observed struct {
	Provider, Type string
	// LastEvent is the ID of the newest event that was observed; "" if none was.
	LastEvent string
	// At is when it was observed last.
	At time.Time
	// Shape is nil if no event was observed.
	Shape *Shape
}
