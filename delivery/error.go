package delivery

import (
	"context"
	"errors"
	"net"
)

// Error says why there is no answer, without the address.
type Error struct {
	Reason string
	cause  error
}

// Error is "post: reason".
func (e *Error) Error() string { return "post: " + e.Reason }

// Unwrap gives the cause, for errors.Is; its text may name the address.
func (e *Error) Unwrap() error { return e.cause }

func failure(err error) *Error {
	var refused *PrivateAddressError
	var network net.Error
	reason := "the connection failed"
	switch {
	case errors.As(err, &refused):
		reason = "the address is not of the public internet"
	case errors.Is(err, context.Canceled):
		reason = "it was given up"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		reason = "no answer in time"
	}
	return &Error{Reason: reason, cause: err}
}
