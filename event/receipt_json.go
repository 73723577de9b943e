package event

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// AppendJSON appends what json.Marshal gives for the receipt, byte for byte, at a third of its price: every event is encoded
// before it is acknowledged. An error means that Root is no JSON or ReceivedAt no time of this era.
func (r Receipt) AppendJSON(to []byte) ([]byte, error) {
	to = appendText(append(to, `{"id":`...), r.ID)
	to = appendText(append(to, `,"provider":`...), r.Provider)
	to = appendFilled(to, `,"source":`, r.Source)
	to = appendText(append(to, `,"key":`...), r.Key)
	to = appendText(append(to, `,"key_from":`...), string(r.KeyFrom))
	if r.DedupeWindow != 0 {
		to = appendText(append(to, `,"dedupe_window":`...), r.DedupeWindow.String())
	}
	to = appendFilled(to, `,"fingerprint":`, r.Fingerprint)
	to = appendFilled(to, `,"type":`, r.Type)
	to = appendFilled(to, `,"priority":`, string(r.Priority))
	to, err := appendTime(append(to, `,"received_at":`...), r.ReceivedAt)
	if err != nil {
		return nil, err
	}
	to = appendTexts(to, `,"headers":`, r.Headers)
	to = appendTexts(to, `,"query":`, r.Query)
	to = appendTexts(to, `,"path":`, r.Path)
	if len(r.Root) > 0 {
		root, err := json.Marshal(r.Root)
		if err != nil {
			return nil, fmt.Errorf("encode envelope: %w", err)
		}
		to = append(append(to, `,"root":`...), root...)
	}
	to = appendText(append(to, `,"request_id":`...), r.RequestID)
	to = appendFilled(to, `,"correlation_id":`, r.CorrelationID)
	to = appendFilled(to, `,"replaces":`, r.Replaces)
	return append(to, '}'), nil
}

func appendFilled(to []byte, name, text string) []byte {
	if text == "" {
		return to
	}
	return appendText(append(to, name...), text)
}

func appendTexts(to []byte, name string, texts map[string]string) []byte {
	if len(texts) == 0 {
		return to
	}
	to = append(to, name...)
	separator := byte('{')
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		to = appendText(append(to, separator), key)
		to = appendText(append(to, ':'), texts[key])
		separator = ','
	}
	return append(to, '}')
}

func appendTime(to []byte, t time.Time) ([]byte, error) {
	to, err := t.AppendText(append(to, '"'))
	if err != nil {
		return nil, fmt.Errorf("encode time of receipt: %w", err)
	}
	return append(to, '"'), nil
}

// appendText leaves text with anything in it that has to be escaped to encoding/json.
func appendText(to []byte, text string) []byte {
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(text) //nolint:errchkjson // a string can always be encoded
			return append(to, quoted...)
		}
	}
	to = append(to, '"')
	return append(append(to, text...), '"')
}
