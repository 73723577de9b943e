package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
)

// ErrKeyBusy is returned while an event of another dedupe window is still being processed: a key has one run at a time.
var ErrKeyBusy = errors.New("an event of another dedupe window is still being processed under this key")

// ErrStartContended is returned if concurrent starts of the same key won every time.
var ErrStartContended = errors.New("runs of this key keep changing")

// IDTakenError is returned for an event whose workflow ID belongs to a workflow of another application. The event can't start
// while that workflow runs, and Holdfast doesn't replace it.
type IDTakenError struct {
	WorkflowID string
	RunID      string
	// Type is the workflow type of that run.
	Type string
}

func (e *IDTakenError) Error() string {
	return fmt.Sprintf("workflow ID %q is taken by run %s of type %q, which doesn't process events: wait until that run has ended "+
		"or end it, replay the event, and give workflows of that type other IDs", e.WorkflowID, e.RunID, e.Type)
}

// ErrTooLarge is returned for an event larger than a message to Temporal. IsRefused reports true for it.
var ErrTooLarge = serviceerror.NewInvalidArgument("the event is larger than Temporal's message limit (4 MiB)")

// IsOutage reports whether a start failed because of Temporal or the network, not because of the event.
func IsOutage(err error) bool {
	return err != nil && !IsRefused(err) && !IsIDTaken(err) && !errors.Is(err, ErrStartContended) && !errors.Is(err, ErrKeyBusy)
}

// IsIDTaken reports whether the error is an IDTakenError.
func IsIDTaken(err error) bool {
	var taken *IDTakenError
	return errors.As(err, &taken)
}

// IsRefused reports whether Temporal rejects the event because of its content or of Temporal's configuration.
func IsRefused(err error) bool {
	var invalid *serviceerror.InvalidArgument
	return errors.As(err, &invalid)
}

// WhyRefused returns Temporal's reason for a rejection; "" for other errors.
func WhyRefused(err error) string {
	if invalid, ok := errors.AsType[*serviceerror.InvalidArgument](err); ok {
		return invalid.Message
	}
	return ""
}

// failure adds what a call was for to its error, which is transient if Temporal doesn't respond.
func failure(doing string, err error) error {
	var down *serviceerror.Unavailable
	var late *serviceerror.DeadlineExceeded
	if errors.As(err, &down) || errors.As(err, &late) {
		return unavailable(doing, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func isNotFound(err error) bool {
	var notFound *serviceerror.NotFound
	return errors.As(err, &notFound)
}

// WithTimeout is context.WithTimeout without a visible deadline: Temporal's client gives a single call only half of a deadline
// that it sees.
func WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	timer := time.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}
