package operator

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/feed"
)

// code names an error for programs. What it says to people, and its HTTP status, stand in failures.
type code string

const (
	codeBadRequest       code = "bad_request"
	codeMalformedJSON    code = "malformed_json"
	codeUnknownField     code = "unknown_field"
	codeBadField         code = "bad_field"
	codeMissingField     code = "missing_field"
	codeUnknownParameter code = "unknown_parameter"
	codeBadParameter     code = "bad_parameter"
	codeBadCursor        code = "bad_cursor"
	codeBadPayload       code = "bad_payload"
	codeUnauthenticated  code = "unauthenticated"
	codeForbidden        code = "forbidden"
	codeForeignPage      code = "foreign_page"
	codeStalePage        code = "stale_page"
	codeNotFound         code = "not_found"
	codeNoSuchThing      code = "no_such_thing"
	codeGone             code = "gone"
	codeResync           code = "resync"
	codeManyStreams      code = "too_many_streams"
	codeMethod           code = "method_not_allowed"
	codeTimeout          code = "timeout"
	codeWrongState       code = "wrong_state"
	codeRefused          code = "refused"
	codeTooLarge         code = "too_large"
	codeMediaType        code = "unsupported_media_type"
	codeLockedOut        code = "locked_out"
	codeHeaders          code = "headers_too_large"
	codeInternal         code = "internal"
	codeUnavailable      code = "unavailable"
)

// failures are all errors that are shown. The text of an error itself never is.
var failures = map[code]struct {
	status  int
	message string
}{
	codeBadRequest:       {fiber.StatusBadRequest, "The request could not be read."},
	codeMalformedJSON:    {fiber.StatusBadRequest, "The body is not one JSON object."},
	codeUnknownField:     {fiber.StatusBadRequest, "The body has a field that is not known here."},
	codeBadField:         {fiber.StatusBadRequest, "A field of the body has no usable value."},
	codeMissingField:     {fiber.StatusBadRequest, "The body lacks a field."},
	codeUnknownParameter: {fiber.StatusBadRequest, "The query has a parameter that is not known here, or has one twice."},
	codeBadParameter:     {fiber.StatusBadRequest, "A parameter has no usable value."},
	codeBadCursor:        {fiber.StatusBadRequest, "The cursor is not one that this list has given."},
	codeBadPayload:       {fiber.StatusBadRequest, "A payload cannot be encrypted or decrypted."},
	codeUnauthenticated:  {fiber.StatusUnauthorized, "Show a token: Authorization: Bearer …"},
	codeForbidden:        {fiber.StatusForbidden, "The role of this token is not enough."},
	codeForeignPage:      {fiber.StatusForbidden, "The request seems to come from a page of another site."},
	codeStalePage:        {fiber.StatusForbidden, "The page is from before: go back, load it again, and repeat what you did."},
	codeNotFound:         {fiber.StatusNotFound, "There is nothing here. GET / lists what there is."},
	codeNoSuchThing:      {fiber.StatusNotFound, "There is no such thing."},
	codeGone:             {fiber.StatusGone, "Nothing is left of it: an operator has decided so."},
	codeResync:           {fiber.StatusGone, "That place is no longer in the feed. Read again what you keep, and follow after=now."},
	codeManyStreams:      {fiber.StatusServiceUnavailable, "As many follow the feed as may. Try again later, or read it in pages."},
	codeMethod:           {fiber.StatusMethodNotAllowed, "This path does not take that method."},
	codeTimeout:          {fiber.StatusRequestTimeout, "The request did not arrive in time."},
	codeWrongState:       {fiber.StatusConflict, "It is not in a state in which that can be done."},
	codeRefused:          {fiber.StatusConflict, "That cannot be done."},
	codeTooLarge:         {fiber.StatusRequestEntityTooLarge, "The body is too large."},
	codeMediaType:        {fiber.StatusUnsupportedMediaType, "The body must be application/json."},
	codeLockedOut:        {fiber.StatusTooManyRequests, "Too many wrong tokens came from this address."},
	codeHeaders:          {fiber.StatusRequestHeaderFieldsTooLarge, "The headers are too large."},
	codeInternal:         {fiber.StatusInternalServerError, "Something went wrong here. The log has it under this request id."},
	codeUnavailable:      {fiber.StatusServiceUnavailable, "This cannot be answered now. Try again."},
}

// onPages is what a page says where the table speaks to programs.
var onPages = map[code]string{
	codeUnauthenticated: "You are not logged in.",
	codeNotFound:        "There is no such page.",
}

// ofFiber are the codes of errors that Fiber makes, by status.
var ofFiber = map[int]code{
	fiber.StatusBadRequest:                  codeBadRequest,
	fiber.StatusNotFound:                    codeNotFound,
	fiber.StatusMethodNotAllowed:            codeMethod,
	fiber.StatusRequestTimeout:              codeTimeout,
	fiber.StatusRequestEntityTooLarge:       codeTooLarge,
	fiber.StatusRequestHeaderFieldsTooLarge: codeHeaders,
	fiber.StatusServiceUnavailable:          codeUnavailable,
}

// refusal is an error of the table. Its field and detail are of the request itself or of the vocabulary of events.
type refusal struct {
	code          code
	field, detail string
}

func refuse(c code) *refusal { return &refusal{code: c} }

func refuseField(c code, field string) *refusal { return &refusal{code: c, field: field} }

// Error is the code.
func (r *refusal) Error() string { return string(r.code) }

// fail answers with {"error":{"code","message","request_id"}}, also where Fiber could not read a request at all.
func (s *Server) fail(c *fiber.Ctx, err error) error {
	shown, id := shown(err), requestID(c)
	entry := failures[shown.code]
	switch {
	case shown.code == codeManyStreams: // nothing is wrong, and whoever is sent away comes again and again
		s.log.Info("operator.stream_refused", "request_id", id, "path", c.Path(), "error", err)
	case entry.status >= fiber.StatusInternalServerError:
		s.log.Error("operator.failed", "request_id", id, "path", c.Path(), "error", err)
	}
	setHeaders(c)
	if entry.status == fiber.StatusServiceUnavailable {
		setRetryAfter(c, time.Second)
	}
	if s.site.owns(c.Path()) {
		err := s.site.fail(c.Status(entry.status), FailureOf(c, err))
		if err == nil {
			return nil
		}
		s.log.Error("operator.failed", "request_id", id, "path", c.Path(), "error", err)
	}
	answer := fiber.Map{"code": shown.code, "message": entry.message, "request_id": id}
	if shown.field != "" {
		answer["field"] = shown.field
	}
	if shown.detail != "" {
		answer["detail"] = shown.detail
	}
	return c.Status(entry.status).JSON(fiber.Map{"error": answer})
}

// shown is the entry of the table that stands for an error.
func shown(err error) *refusal {
	var own *refusal
	var state *event.StateError
	var exists *operation.RunExistsError
	var verdict *event.VerdictError
	var collapsed *event.CollapsedError
	var classed *event.Error
	var fibers *fiber.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &collapsed):
		return &refusal{code: codeNoSuchThing, detail: collapsed.Error()}
	case errors.Is(err, event.ErrNotFound):
		return refuse(codeNoSuchThing)
	case errors.Is(err, feed.ErrResync):
		return refuse(codeResync)
	case errors.Is(err, feed.ErrTooMany):
		return refuse(codeManyStreams)
	case errors.As(err, &verdict):
		return &refusal{code: codeGone, detail: verdict.Error()}
	case errors.As(err, &state):
		return &refusal{code: codeWrongState, detail: state.Error()}
	case errors.As(err, &exists):
		return &refusal{code: codeWrongState, detail: exists.Error()}
	case errors.As(err, &classed) && classed.Class == event.ClassTransient:
		return refuse(codeUnavailable)
	case errors.As(err, &classed) && classed.Class == event.ClassRejected && strings.HasPrefix(classed.Code, "invalid_"):
		return &refusal{code: codeBadField, detail: classed.Text} // it names fields, and why they cannot be so
	case errors.As(err, &classed) && classed.Class == event.ClassRejected:
		return &refusal{code: codeRefused, detail: classed.Code}
	case errors.As(err, &fibers):
		if known, ok := ofFiber[fibers.Code]; ok {
			return refuse(known)
		}
	}
	return refuse(codeInternal)
}

func setRetryAfter(c *fiber.Ctx, wait time.Duration) {
	c.Set(fiber.HeaderRetryAfter, strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}

// recoverPanic turns a panic into an error: without it, fasthttp would end the process.
func (s *Server) recoverPanic(c *fiber.Ctx) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.log.Error("operator.panicked", "path", c.Path(), "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
			err = fiber.ErrInternalServerError
		}
	}()
	return c.Next()
}

// FailureOf is an error as it is shown.
func FailureOf(c *fiber.Ctx, err error) Failure {
	s := shown(err)
	entry := failures[s.code]
	return Failure{
		Status: entry.status, Code: string(s.code), Message: cmp.Or(onPages[s.code], entry.message),
		Field: s.field, Detail: s.detail, RequestID: requestID(c),
	}
}
