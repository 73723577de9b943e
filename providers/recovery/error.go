package recovery

import (
	"fmt"
	"time"
)

// Kind is why a page couldn't be read.
type Kind string

// The kinds of errors.
const (
	// KindUnconfigured means that a credential or a part of the host isn't set.
	KindUnconfigured Kind = "unconfigured"
	// KindUnauthorized means that the provider refuses the credential.
	KindUnauthorized Kind = "unauthorized"
	// KindLimited means that the provider's rate limit is reached.
	KindLimited Kind = "rate_limited"
	// KindUnavailable means that the provider didn't answer, or had an error of its own.
	KindUnavailable Kind = "unavailable"
	// KindRefused means that the provider refuses the request: a cursor that has expired or doesn't exist, or a window that is too
	// old. A new walk may succeed.
	KindRefused Kind = "refused"
	// KindUnreadable means that the answer isn't what the definition says, or is incomplete.
	KindUnreadable Kind = "unreadable"
	// KindRepeated means that the list goes in circles: going on would never end.
	KindRepeated Kind = "repeated"
)

// Error is why a page couldn't be read. Its text has neither a credential, nor the query of a URL, nor anything of the answer.
type Error struct {
	Kind Kind
	// Status is the status of the answer; 0 if there was none.
	Status int
	// RetryAfter is how long the provider asks to wait; 0 if it doesn't.
	RetryAfter time.Duration
	// Text says what is wrong and what to do.
	Text  string
	cause error
}

// Errorf returns an error of a kind.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// Because returns a copy with a cause, which must not have a URL in its text.
func (e *Error) Because(cause error) *Error {
	with := *e
	with.cause = cause
	return &with
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// IsTemporary reports whether the same page may be readable later. An unreadable answer may be incomplete: try it again a few
// times.
func (e *Error) IsTemporary() bool {
	return e.Kind == KindLimited || e.Kind == KindUnavailable || e.Kind == KindUnreadable
}
