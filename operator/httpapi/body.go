package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/internal/word"
)

// Reasoned is the body of a change that takes a reason.
type Reasoned struct {
	// Reason is kept in the audit log.
	Reason string `json:"reason,omitempty" jsonschema:"maxLength=1024"`
}

// CheckReason refuses a reason that can't be stored.
func (r Reasoned) CheckReason() error {
	if len(r.Reason) > MaxText || !IsText(r.Reason) {
		return BadField("reason")
	}
	return nil
}

// ReadChange decodes the body of a change with its reason, keeping the values of missing fields. On a page the body is a form.
func ReadChange(c *fiber.Ctx, body interface{ CheckReason() error }) error {
	read := decode
	if isForm(c) {
		read = decodeForm
	} else if q := QueryOf(c); q.Err != nil {
		return q.Err
	}
	if err := read(c, body); err != nil {
		return err
	}
	return body.CheckReason()
}

// decode decodes the body, a single JSON object, into a struct. An empty body leaves the struct unchanged.
func decode(c *fiber.Ctx, into any) error {
	body := c.BodyRaw()
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(c.Get(fiber.HeaderContentType)); err != nil || kind != fiber.MIMEApplicationJSON {
		return Refuse(CodeMediaType)
	}
	if !utf8.Valid(body) || bytes.TrimSpace(body)[0] != '{' {
		return Refuse(CodeMalformedJSON)
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return decodeFailure(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Refuse(CodeMalformedJSON)
	}
	return nil
}

// decodeFailure explains an invalid body. The decoder reports an unknown field only as text.
func decodeFailure(err error) error {
	var wrongType *json.UnmarshalTypeError
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		if unquoted, err := strconv.Unquote(name); err == nil {
			name = unquoted
		}
		return refuseField(CodeUnknownField, Shortened(name))
	}
	if errors.As(err, &wrongType) {
		return BadField(Shortened(jsonPath(wrongType.Field)))
	}
	var invalid *json.SyntaxError
	if errors.As(err, &invalid) || errors.Is(err, io.ErrUnexpectedEOF) {
		return Refuse(CodeMalformedJSON)
	}
	var noTime *time.ParseError
	if errors.As(err, &noTime) {
		return &RefusalError{Code: CodeBadField, Detail: explainTime(Shortened(noTime.Value))}
	}
	if errors.Is(err, event.ErrNoDuration) {
		return &RefusalError{Code: CodeBadField, Detail: event.ErrNoDuration.Error()}
	}
	return Refuse(CodeBadField) // a type with its own decoder
}

// explainTime refuses the value of a field that is a time, which the decoder doesn't name.
func explainTime(text string) string {
	if _, err := word.ParseTime(text, time.Time{}); err != nil {
		return strconv.Quote(text) + ": " + word.ExplainTime(text).Error()
	}
	return strconv.Quote(text) + ": use RFC 3339 with a time zone in a body (2026-01-31T09:00:00Z)"
}

// jsonPath returns a field's path as in the body: the decoder puts the Go names of embedded structs in front. They begin with a
// capital letter, unlike the fields of bodies.
func jsonPath(field string) string {
	isEmbedded := func(name string) bool { return name != "" && unicode.IsUpper(rune(name[0])) }
	return strings.Join(slices.DeleteFunc(strings.Split(field, "."), isEmbedded), ".")
}
