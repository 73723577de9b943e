package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/event/oversight"
	"holdfast/event/word"
)

// maxText bounds a parameter or a short field of a body, in bytes.
const maxText = 1024

// within is the context of the work on a request.
func within(c *fiber.Ctx) (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.UserContext(), requestTimeout)
}

// decode reads the body, one JSON object, into a struct. An empty body leaves the struct as it is.
func decode(c *fiber.Ctx, into any) error {
	body := c.BodyRaw()
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(c.Get(fiber.HeaderContentType)); err != nil || kind != fiber.MIMEApplicationJSON {
		return refuse(codeMediaType)
	}
	if !utf8.Valid(body) || bytes.TrimSpace(body)[0] != '{' {
		return refuse(codeMalformedJSON)
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return decodeFailure(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return refuse(codeMalformedJSON)
	}
	return nil
}

// readChange reads the body of a change, which has a reason, over what is there.
func readChange(c *fiber.Ctx, body interface{ check() error }) error {
	if q := queryOf(c); q.err != nil {
		return q.err
	}
	if err := decode(c, body); err != nil {
		return err
	}
	return body.check()
}

// lookAt answers a request for the one thing that its path names, in a parameter of this name.
func lookAt(c *fiber.Ctx, name string, answer func(context.Context, string) error) error {
	text, err := pathText(c, name)
	if err != nil {
		return err
	}
	if q := queryOf(c); q.err != nil {
		return q.err
	}
	ctx, cancel := within(c)
	defer cancel()
	return answer(ctx, text)
}

// decide is lookAt for what somebody decides about it, with a reason in the body.
func decide(c *fiber.Ctx, name string, answer func(context.Context, string, oversight.Actor) error) error {
	text, err := pathText(c, name)
	if err != nil {
		return err
	}
	var body reasoned
	if err := readChange(c, &body); err != nil {
		return err
	}
	ctx, cancel := within(c)
	defer cancel()
	return answer(ctx, text, actor(c, body.Reason))
}

// decodeFailure says what is wrong with a body. The decoder has no type for an unknown field, only a text.
func decodeFailure(err error) error {
	var wrongType *json.UnmarshalTypeError
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		if unquoted, err := strconv.Unquote(name); err == nil {
			name = unquoted
		}
		return refuseField(codeUnknownField, shortened(name))
	}
	if errors.As(err, &wrongType) {
		return refuseField(codeBadField, shortened(asWritten(wrongType.Field)))
	}
	var invalid *json.SyntaxError
	if errors.As(err, &invalid) || errors.Is(err, io.ErrUnexpectedEOF) {
		return refuse(codeMalformedJSON)
	}
	return refuse(codeBadField) // of a type that reads itself, like a time
}

// asWritten is a field as its author wrote it: the decoder puts the Go name of an embedded struct before what is in it.
func asWritten(field string) string {
	embedded, inner, ok := strings.Cut(field, ".")
	if ok && slices.Contains([]string{"Destination", "Subscription", "flat"}, embedded) {
		return inner
	}
	return field
}

func shortened(s string) string {
	const most = 100
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "")
	}
	return s
}

// query are the parameters of a request, each at most once.
type query struct {
	values url.Values
	err    error
}

// queryOf refuses parameters that the list does not know.
func queryOf(c *fiber.Ctx, known ...string) *query {
	values, err := url.ParseQuery(string(c.Request().URI().QueryString()))
	if err != nil {
		return &query{err: refuse(codeBadRequest)}
	}
	q := &query{values: values}
	for name, all := range values {
		switch {
		case !slices.Contains(known, name) || len(all) > 1:
			q.err = refuseField(codeUnknownParameter, shortened(name))
		case len(all[0]) > maxText || !isText(all[0]):
			q.err = refuseField(codeBadParameter, name)
		}
	}
	return q
}

// isText is false for what PostgreSQL cannot hold.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

func (q *query) refuse(name string) {
	if q.err == nil {
		q.err = refuseField(codeBadParameter, name)
	}
}

func (q *query) text(name string) string { return q.values.Get(name) }

// source is a sender within the provider that stands beside it, or "".
func (q *query) source() string {
	source := q.text("source")
	if source != "" && q.text("provider") == "" {
		q.refuse("source")
	}
	return source
}

// choose is a value out of a closed set, or "".
func choose[T ~string](q *query, name string, all []T) T {
	value, err := word.Choose(q.values.Get(name), all)
	if err != nil && q.err == nil {
		q.err = refuseChoice(codeBadParameter, name, err)
	}
	return value
}

// refuseChoice says which values there are.
func refuseChoice(c code, field string, err error) *refusal {
	r := &refusal{code: c, field: field}
	var choice *word.ChoiceError
	if errors.As(err, &choice) {
		r.detail = choice.Advice()
	}
	return r
}

// time is a time in RFC 3339, or a duration that counts back from now ("24h"). It is zero where there is none.
func (q *query) time(name string) time.Time {
	text := q.values.Get(name)
	if text == "" {
		return time.Time{}
	}
	at, err := parseTime(text)
	if err != nil {
		q.refuse(name)
	}
	return at
}

func parseTime(text string) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil && isStorable(at) {
		return at, nil
	}
	ago, err := time.ParseDuration(text)
	if err != nil || ago < 0 {
		return time.Time{}, refuse(codeBadParameter)
	}
	return time.Now().Add(-ago), nil
}

// period is a stretch of time that has something in it.
func (q *query) period() (since, until time.Time) {
	since, until = q.time("since"), q.time("until")
	if !holdsTime(since, until) {
		q.refuse("until")
	}
	return since, until
}

// holdsTime is false for bounds that nothing can be between. Zero does not bound.
func holdsTime(since, until time.Time) bool {
	return since.IsZero() || until.IsZero() || since.Before(until)
}

// isStorable keeps times within what both a timestamptz and an ID can hold.
func isStorable(at time.Time) bool { return at.Year() >= 1970 && at.Year() < 9999 }

// The rows of a page.
const (
	defaultLimit = 50
	maxLimit     = 200
)

// limit is the size of the page.
func (q *query) limit() int {
	text := q.values.Get("limit")
	if text == "" {
		return defaultLimit
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxLimit {
		q.refuse("limit")
	}
	return n
}

// pathText is a part of the path, decoded.
func pathText(c *fiber.Ctx, name string) (string, error) {
	value, err := url.PathUnescape(c.Params(name))
	if err != nil || value == "" || len(value) > maxText || !isText(value) {
		return "", refuseField(codeBadParameter, name)
	}
	return value, nil
}

// pathNumber is the number of a row in the path.
func pathNumber(c *fiber.Ctx) (int64, error) {
	n, err := strconv.ParseInt(c.Params("id"), 10, 64)
	if err != nil || n < 1 {
		return 0, refuseField(codeBadParameter, "id")
	}
	return n, nil
}

func pathUUID(c *fiber.Ctx) (string, error) {
	id, err := uuid.Parse(c.Params("id"))
	if err != nil || len(c.Params("id")) != len(id.String()) {
		return "", refuseField(codeBadParameter, "id")
	}
	return id.String(), nil
}
