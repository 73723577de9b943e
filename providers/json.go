package providers

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	"holdfast/event"
)

// decodeJSON reads one JSON text, strictly: UTF-8 without a byte order mark, nothing behind it. Numbers stay as they are
// written.
func decodeJSON(body []byte) (any, error) {
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return nil, event.Rejectf("empty_body", "the body is empty")
	case !utf8.Valid(body):
		return nil, event.Rejectf("invalid_utf8", "the body is not UTF-8")
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return nil, event.Rejectf("byte_order_mark", "the body begins with a byte order mark")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, event.Rejectf("malformed_json", "the body is not JSON")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, event.Rejectf("malformed_json", "something follows the JSON")
	}
	return v, nil
}
