package event

import (
	"errors"
	"fmt"
)

// Class is the one classification of an error, shared by activities, dead letters, metrics and tools.
type Class string

// The classes.
const (
	// ClassTransient is trouble of the infrastructure: retried with a capped backoff and not counted.
	ClassTransient Class = "transient"
	// ClassRejected is the event's own fault: never retried.
	ClassRejected Class = "rejected"
	// ClassFailed is anything else: retried, and counted against the provider's policy.
	ClassFailed Class = "failed"
	// ClassInDoubt is an event that may repeat another one, and that its definition holds: a replay accepts it.
	ClassInDoubt Class = "in_doubt"
	// ClassConflict is an event whose certain key belongs to an event with other content: a replay accepts it under a key of its
	// own.
	ClassConflict Class = "conflict"
)

// Classes are all of them.
func Classes() []Class {
	return []Class{ClassTransient, ClassRejected, ClassFailed, ClassInDoubt, ClassConflict}
}

// IsFinal reports whether another try by itself would end the same way: only an operator can change that.
func (c Class) IsFinal() bool { return c == ClassRejected || c == ClassInDoubt || c == ClassConflict }

// Error is an error with its class. Its text reaches logs, histories and dead letters, so whoever makes one keeps payloads
// and secrets out of it.
type Error struct {
	Class Class
	// Code is a short, stable name of what went wrong: "malformed_json", "missing_key", a SQLSTATE condition.
	Code string
	// Text says it to a person.
	Text string
	// Err is the cause; nil unless its own text is free of payloads.
	Err error
	// Fields are what Text says, field by field, where it says what is wrong with the fields of something that was declared.
	Fields []FieldProblem
}

// FieldProblem says what is wrong with one field.
type FieldProblem struct {
	// Field is a path: "http.url", "events.types[2]".
	Field, Reason string
}

// Error is "code: text: cause".
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

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeNeedsAdmin is of a change that the role of its actor doesn't allow, though it allows others of the kind.
const CodeNeedsAdmin = "needs_admin"

// CodeChangedMeanwhile is of a change that was made of something that another change has replaced since.
const CodeChangedMeanwhile = "changed_meanwhile"

// Rejectf makes an error of ClassRejected.
func Rejectf(code, format string, args ...any) *Error {
	return &Error{Class: ClassRejected, Code: code, Text: fmt.Sprintf(format, args...)}
}

// ClassOf is the class of the first Error in err's chain, and ClassFailed where there is none.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return ClassFailed
}

// CodeOf is the code of the first Error in err's chain, and "unclassified" where there is none.
func CodeOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return "unclassified"
}
