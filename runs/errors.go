package runs

import (
	"errors"

	"go.temporal.io/api/serviceerror"
)

// ErrKeyBusy is returned while an event of another dedupe window is still being processed: there is one run of a key at a time.
var ErrKeyBusy = errors.New("an event of another dedupe window is still being processed under this key")

// ErrStartContended is returned if other starts of the same key came first every time.
var ErrStartContended = errors.New("runs of this key keep changing")

// ErrTooLarge is returned for what is larger than a message to Temporal may be. It is a refusal, too.
var ErrTooLarge = serviceerror.NewInvalidArgument("the event is larger than a message to Temporal may be (4 MiB)")

// IsOutage says that a start has failed for a reason that lies in Temporal, or in the way to it, and not in the event.
func IsOutage(err error) bool {
	return err != nil && !IsRefused(err) && !errors.Is(err, ErrStartContended) && !errors.Is(err, ErrKeyBusy)
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
