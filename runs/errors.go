package runs

import (
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
)

// ErrKeyBusy is returned while an event of another dedupe window is still being processed: there is one run of a key at a time.
var ErrKeyBusy = errors.New("an event of another dedupe window is still being processed under this key")

// ErrStartContended is returned if other starts of the same key came first every time.
var ErrStartContended = errors.New("runs of this key keep changing")

// IDTakenError is returned for an event whose workflow ID belongs to a workflow that doesn't process events. The event can't
// start while that workflow runs, and Holdfast doesn't replace the run of another application on its own.
type IDTakenError struct {
	WorkflowID string
	RunID      string
	// Type is the workflow type of that run.
	Type string
}

// Error names the workflow and what to do.
func (e *IDTakenError) Error() string {
	return fmt.Sprintf("workflow ID %q is taken by run %s of type %q, which does not process events: wait until that run has ended "+
		"or end it, replay the event, and give workflows of that type other IDs", e.WorkflowID, e.RunID, e.Type)
}

// ErrTooLarge is returned for what is larger than a message to Temporal may be. It is a refusal, too.
var ErrTooLarge = serviceerror.NewInvalidArgument("the event is larger than a message to Temporal may be (4 MiB)")

// IsOutage says that a start has failed for a reason that lies in Temporal, or in the way to it, and not in the event.
func IsOutage(err error) bool {
	return err != nil && !IsRefused(err) && !IsIDTaken(err) && !errors.Is(err, ErrStartContended) && !errors.Is(err, ErrKeyBusy)
}

// IsIDTaken reports whether the error is an IDTakenError.
func IsIDTaken(err error) bool {
	var taken *IDTakenError
	return errors.As(err, &taken)
}

// IsRefused says that Temporal does not take this event as it is: for what is in it, or for how Temporal is set up.
func IsRefused(err error) bool {
	var invalid *serviceerror.InvalidArgument
	return errors.As(err, &invalid)
}

// WhyRefused is Temporal's own reason for a refusal; "" if the error is none.
func WhyRefused(err error) string {
	var invalid *serviceerror.InvalidArgument
	if errors.As(err, &invalid) {
		return invalid.Message
	}
	return ""
}

func isNotFound(err error) bool {
	var notFound *serviceerror.NotFound
	return errors.As(err, &notFound)
}
