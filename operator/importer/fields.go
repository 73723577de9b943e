package importer

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The bounds of fields.
const (
	maxText = 10_000
	// maxFuture is how far a time may lie in the future: clocks differ.
	maxFuture = time.Hour
)

// earliest is before every webhook.
var earliest = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)

// text returns a string, or a number as it is written; "" if missing.
func (r *record) text(name string) string {
	value := r.take(name)
	if value == nil {
		return ""
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		var n json.Number
		if json.Unmarshal(value, &n) != nil {
			r.wrong(name, "want a text")
			return ""
		}
		s = n.String()
	}
	if len(s) > maxText || !utf8.ValidString(s) || strings.Contains(s, "\x00") {
		r.wrong(name, "is longer than %d bytes, or holds what no text may", maxText)
		return ""
	}
	return s
}

// needed returns a required text.
func (r *record) needed(name string) string {
	before := len(r.problems)
	s := r.text(name)
	if s == "" && len(r.problems) == before {
		r.wrong(name, "is missing")
	}
	return s
}

// timeLayouts are RFC 3339, and PostgreSQL's own.
var timeLayouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07"}

// time returns a time with its zone, or seconds or milliseconds since 1970; zero if missing.
func (r *record) time(name string) time.Time {
	s := r.text(name)
	if s == "" {
		return time.Time{}
	}
	at, ok := parseTime(s)
	switch {
	case !ok:
		r.wrong(name, "want a time with its zone such as 2026-11-22T10:00:00Z, or seconds since 1970")
	case at.Before(earliest):
		r.wrong(name, "lies before 1990")
	default:
		return at.UTC().Truncate(time.Microsecond)
	}
	return time.Time{}
}

func parseTime(s string) (time.Time, bool) {
	for _, layout := range timeLayouts {
		if at, err := time.Parse(layout, s); err == nil {
			return at, true
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	const firstMilli = 100_000_000_000 // in seconds the year 5138
	switch {
	case err != nil || n < 0:
		return time.Time{}, false
	case n < firstMilli:
		return time.Unix(n, 0), true
	default:
		return time.UnixMilli(n), n < 100*firstMilli
	}
}

// past returns a past time, which may be required.
func (r *record) past(name string, isNeeded bool) time.Time {
	before := len(r.problems)
	at := r.time(name)
	switch {
	case len(r.problems) > before:
	case at.IsZero() && isNeeded:
		r.wrong(name, "is missing")
	case isFuture(at):
		r.wrong(name, "is in the future")
	}
	return at
}

// whole returns a whole number from 0; nil if missing.
func (r *record) whole(name string) *int64 {
	s := r.text(name)
	if s == "" {
		return nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		r.wrong(name, "want a whole number from 0")
		return nil
	}
	return &n
}

func (r *record) number(name string) *float64 {
	s := r.text(name)
	if s == "" {
		return nil
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n > 0) {
		r.wrong(name, "want a number above 0")
		return nil
	}
	return &n
}

// flag returns a boolean, also in a database's notation.
func (r *record) flag(name string, otherwise bool) bool {
	value := strings.ToLower(strings.Trim(string(r.take(name)), `"`))
	switch value {
	case "":
		return otherwise
	case "true", "t", "1", "yes":
		return true
	case "false", "f", "0", "no":
		return false
	}
	r.wrong(name, "want true or false")
	return otherwise
}

// json returns a JSON value, or one encoded in a string: tables keep JSON as text, and CSV has nothing else.
func (r *record) json(name string) json.RawMessage {
	value := r.take(name)
	if len(value) > 0 && value[0] == '"' {
		var s string
		_ = json.Unmarshal(value, &s) // it was read as JSON before
		value = bytes.TrimSpace([]byte(s))
	}
	if len(value) == 0 {
		return nil
	}
	if !json.Valid(value) {
		r.wrong(name, "want JSON")
		return nil
	}
	return value
}

// object returns a JSON object; nil if missing.
func (r *record) object(name string) json.RawMessage {
	value := r.json(name)
	if value != nil && value[0] != '{' {
		r.wrong(name, "want an object of JSON")
		return nil
	}
	return value
}

// parts returns headers, query parameters or path variables: texts, or lists of them, by name.
func (r *record) parts(name string) map[string][]string {
	value := r.object(name)
	if value == nil {
		return nil
	}
	var raw map[string]json.RawMessage
	_ = json.Unmarshal(value, &raw) // it is an object
	all := make(map[string][]string, len(raw))
	for _, part := range slices.Sorted(maps.Keys(raw)) {
		var one string
		var many []string
		switch {
		case json.Unmarshal(raw[part], &one) == nil:
			many = []string{one}
		case json.Unmarshal(raw[part], &many) != nil:
			r.wrong(name, "want texts, or lists of texts")
			return nil
		}
		all[part] = many
	}
	return all
}

// list returns a list of texts, as JSON, as a PostgreSQL array of plain words ({a,b}), or as one text.
func (r *record) list(name string) []string {
	value := r.take(name)
	if value == nil {
		return nil
	}
	var all []string
	if json.Unmarshal(value, &all) == nil {
		return all
	}
	s := r.text(name)
	if json.Unmarshal([]byte(s), &all) == nil {
		return all
	}
	return strings.FieldsFunc(strings.Trim(s, "{}"), func(c rune) bool { return c == ',' || c == ' ' || c == '"' })
}

func (r *record) hasBody() bool {
	encoded := r.take("body_base64")
	return r.take("body") != nil || encoded != nil && string(encoded) != `""`
}

// body returns the received body. It is exact unless it is given as JSON instead of bytes: a jsonb column doesn't keep them. A
// CSV cell with line breaks isn't exact either: its reader turns CRLF into LF.
func (r *record) body() (body []byte, isExact, ok bool) {
	if encoded := r.text64("body_base64"); encoded != "" {
		if r.take("body") != nil {
			r.wrong("body", "stands next to body_base64: give one of the two")
			return nil, false, true
		}
		body, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			r.wrong("body_base64", "is no base64")
		}
		return body, true, err == nil
	}
	value := r.take("body")
	if value == nil {
		return nil, false, false
	}
	var s string
	if json.Unmarshal(value, &s) == nil {
		return []byte(s), !r.isCSV || !strings.Contains(s, "\n"), true
	}
	var plain bytes.Buffer
	_ = json.Compact(&plain, value) // it was read as JSON before
	return plain.Bytes(), false, true
}

// whyInexact says why a body isn't exact, and what to give instead.
func (r *record) whyInexact() string {
	if r.isCSV {
		return "a cell of CSV does not keep those of a line end: give body_base64, or a key"
	}
	return "JSON is not what was sent: give them as a text, or give a key"
}

// bytes decodes base64; nil if missing.
func (r *record) bytes(name string) []byte {
	encoded := r.text64(name)
	if encoded == "" {
		return nil
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		r.wrong(name, "is no base64")
	}
	return decoded
}

// text64 returns a text of any length.
func (r *record) text64(name string) (s string) {
	if value := r.take(name); value != nil && json.Unmarshal(value, &s) != nil {
		r.wrong(name, "want a text")
	}
	return strings.TrimSpace(s)
}
