package httpapi

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/event/oversight"
	"holdfast/internal/word"
)

// Timeout bounds the work on one request to the API.
const Timeout = 10 * time.Second

// MaxText bounds a parameter or a short field of a body, in bytes.
const MaxText = 1024

const contextKey = "context"

// requestContext is a context among the values of a request, which the server closes after it has written the response.
type requestContext struct {
	context.Context

	cancel context.CancelFunc
}

func (r requestContext) Close() error {
	r.cancel()
	return nil
}

// RequestContext returns the context for a request's work, the same for all calls of a request. The first call sets its deadline.
func RequestContext(c *fiber.Ctx) context.Context {
	if made, ok := c.Locals(contextKey).(requestContext); ok {
		return made.Context
	}
	ctx, cancel := context.WithTimeout(c.UserContext(), Timeout)
	c.Locals(contextKey, requestContext{ctx, cancel})
	return ctx
}

// ReadByPath responds with the object that the named path parameter identifies.
func ReadByPath(c *fiber.Ctx, name string, answer func(context.Context, string) error) error {
	text, err := PathText(c, name)
	if err != nil {
		return err
	}
	if q := QueryOf(c); q.Err != nil {
		return q.Err
	}
	return answer(RequestContext(c), text)
}

// ChangeByPath is ReadByPath for an operator's decision about the object, with a reason in the body.
func ChangeByPath(c *fiber.Ctx, name string, answer func(context.Context, string, oversight.Actor) error) error {
	text, err := PathText(c, name)
	if err != nil {
		return err
	}
	var body Reasoned
	if err := ReadChange(c, &body); err != nil {
		return err
	}
	return answer(RequestContext(c), text, Actor(c, body.Reason))
}

// Shortened returns the beginning of a client's text, to be shown in the response.
func Shortened(s string) string {
	const most = 100
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "")
	}
	return s
}

// IsText reports whether PostgreSQL can store the text.
func IsText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// ParseTime parses an RFC 3339 time or a duration that counts back from now ("24h", "7d").
func ParseTime(text string) (time.Time, error) {
	at, err := word.ParseTime(text, time.Now())
	if err == nil && !IsStorable(at) {
		err = errUnstorable
	}
	return at, err
}

var errUnstorable = errors.New("use a time between the years 1970 and 9998")

// CheckPeriod refuses a range that is empty, or whose bounds can't be stored. A zero time is no bound.
func CheckPeriod(code Code, since, until time.Time) error {
	switch {
	case !since.IsZero() && !IsStorable(since):
		return &RefusalError{Code: code, Field: "since", Detail: errUnstorable.Error()}
	case !until.IsZero() && !IsStorable(until):
		return &RefusalError{Code: code, Field: "until", Detail: errUnstorable.Error()}
	case !since.IsZero() && !until.IsZero() && !since.Before(until):
		return &RefusalError{
			Code: code, Field: "until", Detail: "must be later than since, which is " + since.UTC().Format(time.RFC3339),
		}
	}
	return nil
}

// Duration parses a duration within bounds.
func Duration(code Code, field, text string, least, most time.Duration) (time.Duration, error) {
	d, err := word.ParseDuration(strings.TrimSpace(text))
	switch {
	case err != nil:
		return 0, &RefusalError{Code: code, Field: field, Detail: err.Error()}
	case d < least || d > most:
		return 0, &RefusalError{
			Code: code, Field: field, Detail: "use a duration from " + word.Duration(least) + " to " + word.Duration(most),
		}
	}
	return d, nil
}

// IsStorable limits times to what both a timestamptz and an ID can hold.
func IsStorable(at time.Time) bool { return at.Year() >= 1970 && at.Year() < 9999 }

// PathText returns a decoded path parameter.
func PathText(c *fiber.Ctx, name string) (string, error) {
	value, err := url.PathUnescape(c.Params(name))
	if isDots(value) {
		value, _ = url.PathUnescape(value) // as PathSegment wrote it
	}
	if err != nil || value == "" || len(value) > MaxText || !IsText(value) {
		return "", BadParameter(name)
	}
	return value, nil
}

// PathNumber returns the row ID in the path.
func PathNumber(c *fiber.Ctx) (int64, error) {
	n, err := strconv.ParseInt(c.Params("id"), 10, 64)
	if err != nil || n < 1 {
		return 0, BadParameter("id")
	}
	return n, nil
}

// PathUUID returns the ID in the path, as written.
func PathUUID(c *fiber.Ctx) (string, error) {
	id, err := uuid.Parse(c.Params("id"))
	if err != nil || len(c.Params("id")) != len(id.String()) {
		return "", BadParameter("id")
	}
	return id.String(), nil
}
