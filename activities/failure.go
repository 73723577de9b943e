package activities

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"

	"holdfast/event"
)

// failure turns an activity's error into the application error that the workflow decides by: its type is the error class,
// its only detail the code. It is never marked non-retryable here, because the dead letter's lane retries every class.
func failure(err error) error {
	if err == nil {
		return nil
	}
	class, code := Classify(err)
	options := temporal.ApplicationErrorOptions{Details: []any{code}}
	return temporal.NewApplicationErrorWithOptions(err.Error(), string(class), options)
}

// Classify gives an error's class and code.
func Classify(err error) (class event.Class, code string) {
	class, code = event.ClassOf(err), event.CodeOf(err)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		// The worker is shutting down, or the attempt has used up its time: neither is the event's fault.
		class = event.ClassTransient
	}
	return class, code
}

// panicError reports a panic by the type of its value only: the value itself may hold a piece of a payload.
func panicError(value any) error {
	return &event.Error{Class: event.ClassFailed, Code: "panic", Text: fmt.Sprintf("step panicked with a %T", value)}
}
