package event

import (
	"errors"
	"fmt"
	"time"
)

// Class classifies an error for activities, dead letters, metrics and tools.
type Class string

// The classes of errors.
const (
	// ClassTransient is an infrastructure error: retried with a capped backoff and not counted.
	ClassTransient Class = "transient"
	// ClassRejected is caused by the event itself: never retried.
	ClassRejected Class = "rejected"
	// ClassFailed is any other error: retried, and counted against the provider's policy.
	ClassFailed Class = "failed"
	// ClassInDoubt is an event that may repeat another one and whose definition holds such events: a replay accepts it.
	ClassInDoubt Class = "in_doubt"
	// ClassConflict is an event whose key is certain but belongs to an event with other content: a replay accepts it under a new
	// key.
	ClassConflict Class = "conflict"
)

// Classes lists all classes.
func Classes() []Class {
	return []Class{ClassTransient, ClassRejected, ClassFailed, ClassInDoubt, ClassConflict}
}

// IsFinal reports whether an automatic retry would fail again: only an operator can change the result.
func (c Class) IsFinal() bool { return c == ClassRejected || c == ClassInDoubt || c == ClassConflict }

// Error is an error with a class. Its text appears in logs, histories and dead letters, so it must not contain payloads or
// secrets.
type Error struct {
	Class Class
	// Code is a short, stable name: "malformed_json", "missing_key", a SQLSTATE condition.
	Code string
	Text string
	// Err is the cause; nil unless its text is free of payloads.
	Err error
	// RetryAfter is when a retry of a transient error can succeed at the earliest; 0 if that isn't known.
	RetryAfter time.Duration
	// Fields repeats Text by field if the error is about the fields of a declaration.
	Fields []FieldProblem
}

// FieldProblem describes an invalid field.
type FieldProblem struct {
	// Field is a path: "http.url", "events.types[2]".
	Field, Reason string
}

// Error returns "code: text: cause".
func (e *Error) Error() string {
	s := e.Code
	if e.Text != "" {
		s += ": " + e.Text
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// CodeNeedsAdmin is the code of a change that requires the admin role.
const CodeNeedsAdmin = "needs_admin"

// CodeNoTemporal is the code of an error if Temporal doesn't respond.
const CodeNoTemporal = "temporal_unavailable"

// CodeChangedMeanwhile is the code of a change that is based on an outdated version.
const CodeChangedMeanwhile = "changed_meanwhile"

// Rejectf returns an error of ClassRejected.
func Rejectf(code, format string, args ...any) *Error {
	return &Error{Class: ClassRejected, Code: code, Text: fmt.Sprintf(format, args...)}
}

// ClassOf returns the class of the first Error in err's chain, or ClassFailed.
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return ClassFailed
}

// CodeOf returns the code of the first Error in err's chain, or "unclassified".
func CodeOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return "unclassified"
}
