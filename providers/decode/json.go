package decode

import (
	"bytes"
	"unicode/utf8"

	"holdfast/event"
)

// maxDepth is the maximum nesting of a body.
const maxDepth = 200

// JSON decodes one JSON text, strictly: UTF-8, nothing after it, no deeper than maxDepth. A byte order mark before it is skipped,
// as RFC 8259 allows. Numbers keep their spelling (json.Number).
func JSON(body []byte) (any, error) {
	v, _, err := decodeJSONWatching(body, nil, nil, false)
	return v, err
}

// JSONExactly is JSON for keys: different texts stay different.
func JSONExactly(body []byte) (any, error) {
	v, _, err := decodeJSONWatching(body, nil, nil, true)
	return v, err
}

// JSONUnambiguously is JSONExactly for a body that every reader reads alike: it refuses a repeated field.
func JSONUnambiguously(body []byte) (any, error) {
	everywhere := [][]string{{}}
	v, doubled, err := decodeJSONWatching(body, nil, everywhere, true)
	if err == nil && doubled {
		err = event.Rejectf("duplicate_key", "a field is there twice")
	}
	return v, err
}

// decodeJSONWatching returns the wanted part, and whether a wanted field at, above or below a watched path is repeated. The
// value has the last one, while other readers of the same bytes may use the first. With exactly, different texts stay
// different.
func decodeJSONWatching(body []byte, w Projection, watched [][]string, exactly bool) (v any, doubled bool, err error) {
	if err := checkText(body); err != nil {
		return nil, false, err
	}
	r := newReader(body)
	r.watched, r.exact = watched, exactly
	if v, err = r.value(w); err == nil {
		err = r.end()
	}
	if err != nil {
		return nil, false, err
	}
	return v, r.doubled, nil
}

// TextField returns the text of one field of a JSON object, "" if it isn't text; of repeated fields the last. It builds nothing
// else, because the body isn't authenticated yet.
func TextField(body []byte, name string) (value string, err error) {
	if err := checkText(body); err != nil {
		return "", err
	}
	r := newReader(body)
	if r.peek() != '{' {
		return "", errMalformed
	}
	err = r.fields(func(field string) (err error) {
		if field != name {
			return r.skip()
		}
		if value = ""; r.peek() != '"' {
			return r.skip()
		}
		value, err = r.text()
		return err
	})
	if err == nil {
		err = r.end()
	}
	return value, err
}

// checkText refuses invalid UTF-8.
func checkText(body []byte) error {
	switch {
	case len(bytes.TrimSpace(event.WithoutMark(body))) == 0:
		return event.Rejectf("empty_body", "the body is empty")
	case !utf8.Valid(body):
		return event.Rejectf("invalid_utf8", "the body is not UTF-8")
	}
	return nil
}

// newReader begins after a byte order mark. Positions still count from the beginning of the body.
func newReader(body []byte) reader {
	return reader{data: string(body), pos: len(body) - len(event.WithoutMark(body))}
}

var (
	errMalformed = event.Rejectf("malformed_json", "the body is not JSON")
	errTooDeep   = event.Rejectf("too_deep", "the body is nested too deep")
)

// maxEach is how many elements of an unauthenticated list are read.
const maxEach = 10_000

// TextOfEach returns the text of one field of each object in a list of a JSON object. It builds nothing else, because the body
// isn't authenticated yet, and refuses a repeated list or field, and an element without the field.
func TextOfEach(body []byte, list, name string) (values []string, err error) {
	if err := checkText(body); err != nil {
		return nil, err
	}
	r, seen := newReader(body), false
	if r.peek() != '{' {
		return nil, errMalformed
	}
	err = r.fields(func(field string) error {
		if field != list {
			return r.skip()
		}
		if seen || r.peek() != '[' {
			return errMalformed
		}
		seen = true
		return r.list('[', ']', func() error {
			value, err := r.onlyText(name)
			if values = append(values, value); err == nil && len(values) > maxEach {
				err = errMalformed
			}
			return err
		})
	})
	if err == nil {
		err = r.end()
	}
	return values, err
}

// onlyText reads an object, and returns the text of a field that must be there once.
func (r *reader) onlyText(name string) (value string, err error) {
	if r.peek() != '{' {
		return "", errMalformed
	}
	found := 0
	err = r.fields(func(field string) (err error) {
		if field != name {
			return r.skip()
		}
		if found++; r.peek() != '"' {
			return errMalformed
		}
		value, err = r.text()
		return err
	})
	if err == nil && found != 1 {
		err = errMalformed
	}
	return value, err
}
