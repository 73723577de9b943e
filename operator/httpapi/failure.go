package httpapi

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery/declared"
	"holdfast/event"
	"holdfast/event/feed"
	"holdfast/event/operation"
	"holdfast/internal/word"
)

// Code identifies an error for programs. One table has its message and HTTP status.
type Code string

// The codes of all errors in responses.
const (
	CodeBadRequest       Code = "bad_request"
	CodeMalformedJSON    Code = "malformed_json"
	CodeUnknownField     Code = "unknown_field"
	CodeBadField         Code = "bad_field"
	CodeMissingField     Code = "missing_field"
	CodeUnknownParameter Code = "unknown_parameter"
	CodeBadParameter     Code = "bad_parameter"
	CodeBadCursor        Code = "bad_cursor"
	CodeBadPayload       Code = "bad_payload"
	CodeUnauthenticated  Code = "unauthenticated"
	CodeForbidden        Code = "forbidden"
	CodeForeignPage      Code = "foreign_page"
	CodeStalePage        Code = "stale_page"
	CodeNotFound         Code = "not_found"
	CodeNoSuchThing      Code = "no_such_thing"
	CodeGone             Code = "gone"
	CodeResync           Code = "resync"
	CodeManyStreams      Code = "too_many_streams"
	CodeMethod           Code = "method_not_allowed"
	CodeTimeout          Code = "timeout"
	CodeWrongState       Code = "wrong_state"
	CodeRefused          Code = "refused"
	CodeTooLarge         Code = "too_large"
	CodeMediaType        Code = "unsupported_media_type"
	CodeLockedOut        Code = "locked_out"
	CodeHeaders          Code = "headers_too_large"
	CodeInternal         Code = "internal"
	CodeUnavailable      Code = "unavailable"
)

// failures are all errors in responses. The text of the underlying error is never shown.
var failures = map[Code]struct {
	status  int
	message string
}{
	CodeBadRequest:       {fiber.StatusBadRequest, "The request could not be read."},
	CodeMalformedJSON:    {fiber.StatusBadRequest, "The body is not one JSON object."},
	CodeUnknownField:     {fiber.StatusBadRequest, "The body has a field that is not known here."},
	CodeBadField:         {fiber.StatusBadRequest, "A field of the body has no usable value."},
	CodeMissingField:     {fiber.StatusBadRequest, "The body lacks a field."},
	CodeUnknownParameter: {fiber.StatusBadRequest, "The query has a parameter that is not known here, or has one twice."},
	CodeBadParameter:     {fiber.StatusBadRequest, "A parameter has no usable value."},
	CodeBadCursor:        {fiber.StatusBadRequest, "The cursor is not one that this list has given."},
	CodeBadPayload:       {fiber.StatusBadRequest, "The payload can't be encrypted or decrypted."},
	CodeUnauthenticated:  {fiber.StatusUnauthorized, "Show a token: Authorization: Bearer …"},
	CodeForbidden:        {fiber.StatusForbidden, "The token's role isn't sufficient."},
	CodeForeignPage:      {fiber.StatusForbidden, "The request seems to come from a page of another site."},
	CodeStalePage:        {fiber.StatusForbidden, "The page is from before: go back, load it again, and repeat what you did."},
	CodeNotFound:         {fiber.StatusNotFound, "There is nothing here. GET / lists what there is."},
	CodeNoSuchThing:      {fiber.StatusNotFound, "Not found."},
	CodeGone:             {fiber.StatusGone, "Nothing is left of it: an operator has decided so."},
	CodeResync:           {fiber.StatusGone, "This position is no longer in the feed. Read the current state, then use after=now."},
	CodeManyStreams:      {fiber.StatusServiceUnavailable, "As many follow the feed as may. Try again later, or read it in pages."},
	CodeMethod:           {fiber.StatusMethodNotAllowed, "This path does not take that method."},
	CodeTimeout:          {fiber.StatusRequestTimeout, "The request did not arrive in time."},
	CodeWrongState:       {fiber.StatusConflict, "It is not in a state in which that can be done."},
	CodeRefused:          {fiber.StatusConflict, "The request can't be carried out."},
	CodeTooLarge:         {fiber.StatusRequestEntityTooLarge, "The body is too large."},
	CodeMediaType:        {fiber.StatusUnsupportedMediaType, "The body must be application/json, or what the route takes."},
	CodeLockedOut:        {fiber.StatusTooManyRequests, "Too many wrong tokens came from this address."},
	CodeHeaders:          {fiber.StatusRequestHeaderFieldsTooLarge, "The headers are too large."},
	CodeInternal:         {fiber.StatusInternalServerError, "Something went wrong here. The log has it under this request id."},
	CodeUnavailable:      {fiber.StatusServiceUnavailable, "The database or Temporal is unavailable. Try again."},
}

// codesOfStatus maps the status of Fiber's own errors to codes.
var codesOfStatus = map[int]Code{
	fiber.StatusBadRequest:                  CodeBadRequest,
	fiber.StatusNotFound:                    CodeNotFound,
	fiber.StatusMethodNotAllowed:            CodeMethod,
	fiber.StatusRequestTimeout:              CodeTimeout,
	fiber.StatusRequestEntityTooLarge:       CodeTooLarge,
	fiber.StatusRequestHeaderFieldsTooLarge: CodeHeaders,
	fiber.StatusServiceUnavailable:          CodeUnavailable,
}

// RefusalError is an error of the table. Its field and detail come from the request itself or from the vocabulary of events.
type RefusalError struct {
	Code          Code
	Field, Detail string
	// KnownFrom is the earliest time with known data; zero if there is none.
	KnownFrom time.Time
	// Decision and Conflict explain why an event is missing: an operator's decision, or the event that has its key.
	Decision *event.Decision
	Conflict *event.Conflict
	// Problems are all mistakes in a declaration.
	Problems []declared.Problem
}

func (r *RefusalError) Error() string { return string(r.Code) }

// Refuse returns an error that consists of its code.
func Refuse(c Code) *RefusalError { return &RefusalError{Code: c} }

func refuseField(c Code, field string) *RefusalError { return &RefusalError{Code: c, Field: field} }

// BadField refuses the value of a field.
func BadField(field string) error { return refuseField(CodeBadField, field) }

// BadParameter refuses the value of a parameter.
func BadParameter(field string) error { return refuseField(CodeBadParameter, field) }

// MissingField refuses a request that lacks a field.
func MissingField(field string) error { return refuseField(CodeMissingField, field) }

// RefuseChoice refuses a value and lists the valid ones.
func RefuseChoice(c Code, field string, err error) *RefusalError {
	r := &RefusalError{Code: c, Field: field}
	var choice *word.ChoiceError
	if errors.As(err, &choice) {
		r.Detail = choice.Advice()
	}
	return r
}

// shown maps an error to its entry in the table.
func shown(err error) *RefusalError {
	var own *RefusalError
	var state *event.StateError
	var exists *operation.RunExistsError
	var decided *event.DecisionError
	var collapsed *event.CollapsedError
	var classed *event.Error
	var fibers *fiber.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &collapsed):
		return &RefusalError{Code: CodeNoSuchThing, Detail: collapsed.Error(), KnownFrom: collapsed.Before}
	case errors.Is(err, event.ErrNotFound):
		return Refuse(CodeNoSuchThing)
	case errors.Is(err, feed.ErrResync):
		return Refuse(CodeResync)
	case errors.Is(err, feed.ErrTooMany):
		return Refuse(CodeManyStreams)
	case errors.As(err, &decided):
		return &RefusalError{Code: CodeGone, Detail: decided.Error(), Decision: &decided.Decision}
	case errors.As(err, &state):
		return &RefusalError{Code: CodeWrongState, Detail: state.Error()}
	case errors.As(err, &exists):
		return &RefusalError{Code: CodeWrongState, Detail: exists.Error()}
	case errors.As(err, &classed) && classed.Class == event.ClassTransient:
		return Refuse(CodeUnavailable)
	case errors.As(err, &classed) && classed.Class == event.ClassRejected && strings.HasPrefix(classed.Code, "invalid_"):
		return &RefusalError{Code: CodeBadField, Detail: classed.Text} // it names the fields and why they are invalid
	case errors.As(err, &classed) && classed.Code == event.CodeNeedsAdmin:
		return &RefusalError{Code: CodeForbidden, Detail: classed.Text}
	case errors.As(err, &classed) && classed.Code == event.CodeChangedMeanwhile:
		return &RefusalError{Code: CodeWrongState, Detail: classed.Text}
	case errors.As(err, &classed) && classed.Class == event.ClassRejected:
		return &RefusalError{Code: CodeRefused, Detail: classed.Code}
	case errors.As(err, &fibers):
		if known, ok := codesOfStatus[fibers.Code]; ok {
			return Refuse(known)
		}
	}
	return Refuse(CodeInternal)
}

// Failure is an error as shown in responses.
type Failure struct {
	Status        int
	Code          Code
	Message       string
	Field, Detail string
	RequestID     string
	// KnownFrom is the earliest time with known data; zero if there is none.
	KnownFrom time.Time
	Decision  *event.Decision
	Conflict  *event.Conflict
	Problems  []declared.Problem
}

// FailureOf converts an error for API clients.
func FailureOf(c *fiber.Ctx, err error) Failure { return failureOf(RequestID(c), err) }

func failureOf(requestID string, err error) Failure {
	s := shown(err)
	entry := failures[s.Code]
	return Failure{
		Status: entry.status, Code: s.Code, Message: entry.message, Field: s.Field, Detail: s.Detail, RequestID: requestID,
		KnownFrom: s.KnownFrom, Decision: s.Decision, Conflict: s.Conflict, Problems: s.Problems,
	}
}

// WithCause adds the text of the error, if the response hides it.
func (f Failure) WithCause(err error) Failure {
	if f.Code == CodeInternal || f.Code == CodeUnavailable || f.Code == CodeRefused {
		f.Detail = err.Error()
	}
	return f
}

// SetRetryAfter says how long the client should wait, in whole seconds.
func SetRetryAfter(c *fiber.Ctx, wait time.Duration) {
	c.Set(fiber.HeaderRetryAfter, strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}

// ErrorResponse is the body of every error response.
type ErrorResponse struct {
	Error ErrorBody `json:"error"`
}

// ErrorBody describes an error.
type ErrorBody struct {
	// Code identifies the error and is stable.
	Code      Code   `json:"code"`
	Message   string `json:"message"`
	RequestID string `json:"request_id"`
	// Field is the field or parameter that is missing or invalid.
	Field  string `json:"field,omitempty"`
	Detail string `json:"detail,omitempty"`
	// KnownFrom is the earliest time for which the entity's state is known, if as_of is before it.
	KnownFrom time.Time `json:"known_from,omitzero"`
	// Decision is an operator's decision about an event of which nothing else is left.
	Decision *event.Decision `json:"decision,omitempty"`
	// Conflict is why a missing event was dropped: another one has its key.
	Conflict *event.Conflict `json:"conflict,omitempty"`
	// Problems are all mistakes in a declaration.
	Problems []declared.Problem `json:"problems,omitempty"`
}

// Body returns the response.
func (f Failure) Body() ErrorResponse {
	return ErrorResponse{ErrorBody{
		Code: f.Code, Message: f.Message, RequestID: f.RequestID, Field: f.Field, Detail: f.Detail, KnownFrom: f.KnownFrom.UTC(),
		Decision: f.Decision, Conflict: f.Conflict, Problems: f.Problems,
	}}
}
