package event

import (
	"fmt"
	"time"
)

// CollapsedError says that what was asked for is known no more: retention has folded the history of the entity before a moment
// into one state. It is an ErrNotFound.
type CollapsedError struct {
	// Before is the first moment of which the state is known.
	Before time.Time
}

func (e *CollapsedError) Error() string {
	return fmt.Sprintf("its history before %s is collapsed: the events are older than their retention",
		e.Before.UTC().Format(time.RFC3339Nano))
}

// Is makes it an ErrNotFound.
func (e *CollapsedError) Is(target error) bool { return target == ErrNotFound }
