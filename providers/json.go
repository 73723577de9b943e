package providers

import (
	"bytes"
	"unicode/utf8"

	"holdfast/event"
)

// maxDepth is how deep a body may be nested.
const maxDepth = 200

// decodeJSON reads one JSON text, strictly: UTF-8 without a byte order mark, nothing behind it, no deeper than
// maxDepth. Numbers stay as they are written (json.Number).
func decodeJSON(body []byte) (any, error) {
	v, _, err := decodeJSONNoting(body, nil)
	return v, err
}

// decodeJSONNoting gives what is wanted, and the dotted paths of the wanted fields that an object has twice. The last one of
// them is in the value, while other readers of the same bytes would take the first.
func decodeJSONNoting(body []byte, w wanted) (v any, duplicates [][]string, err error) {
	if err := checkText(body); err != nil {
		return nil, nil, err
	}
	r := reader{data: string(body)}
	if v, err = r.value(w); err == nil {
		err = r.end()
	}
	if err != nil {
		return nil, nil, err
	}
	return v, r.duplicates, nil
}

// checkText refuses bytes that are no text.
func checkText(body []byte) error {
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return event.Rejectf("empty_body", "the body is empty")
	case !utf8.Valid(body):
		return event.Rejectf("invalid_utf8", "the body is not UTF-8")
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return event.Rejectf("byte_order_mark", "the body begins with a byte order mark")
	}
	return nil
}

var (
	errMalformed = event.Rejectf("malformed_json", "the body is not JSON")
	errTooDeep   = event.Rejectf("too_deep", "the body is nested too deep")
)
