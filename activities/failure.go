package activities

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"

	"holdfast/event"
)

// failure converts an error to the application error on which the workflow decides: its type is the error class, its only detail
// the code. It isn't marked non-retryable, because recording a dead letter retries every class.
func failure(err error) error {
	if err == nil {
		return nil
	}
	class, code := Classify(err)
	options := temporal.ApplicationErrorOptions{Details: []any{code}}
	if e, ok := errors.AsType[*event.Error](err); ok {
		options.NextRetryDelay = e.RetryAfter
	}
	return temporal.NewApplicationErrorWithOptions(err.Error(), string(class), options)
}

// Classify returns the class and code of an error.
func Classify(err error) (class event.Class, code string) {
	class, code = event.ClassOf(err), event.CodeOf(err)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		// A shutdown or a timeout isn't the event's fault.
		class = event.ClassTransient
	}
	return class, code
}

// panicError names only the type of the panic value, which may contain payload.
func panicError(value any) error {
	return &event.Error{Class: event.ClassFailed, Code: "panic", Text: fmt.Sprintf("step panicked with a %T", value)}
}
