package delivery

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"holdfast/event"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// IDOf is an ID as of a generation. What is sent again by name has a new ID, since a receiver by the book drops what it has seen.
func IDOf(id string, generation int) string {
	if generation == 0 {
		return id
	}
	return id + "-" + strconv.Itoa(generation)
}

// Input is what the expressions of subscriptions see: {headers, query, path, body} as those of definitions do, with the envelope
// of the event's batch as $root; and beside them .event, which is {id, provider, source, type, key, received_at, occurred_at,
// workflow_id}, with times as text (RFC 3339, UTC). The body is a value where it is JSON or a form, and null where it is not.
func (m Message) Input() jq.Input {
	r := m.Receipt
	return m.inputOf(valueOf(r.Headers["content-type"], m.Body), valueOf("", r.Root))
}

func (m Message) inputOf(body, root any) jq.Input {
	r := m.Receipt
	in := jq.NewInput(r.Headers, r.Query, r.Path, body, root)
	in.Source = r.Source
	in.Value["event"] = map[string]any{
		"id": r.ID, "provider": r.Provider, "source": r.Source, "type": m.Type, "key": r.Key,
		"received_at": stamp(r.ReceivedAt), "occurred_at": stamp(m.OccurredAt), "workflow_id": r.WorkflowID(),
	}
	if m.PossibleDuplicateOf != "" {
		in.Value["event"].(map[string]any)["possible_duplicate_of"] = m.PossibleDuplicateOf
	}
	return in
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// forms reads forms. JSON is read without it: what leaves may be any JSON, where definitions want an object.
var forms = decode.New(&definition.Problems{}, []definition.Decode{{ContentType: decode.FormType, As: "form"}, {As: "text"}})

// valueOf is nil for what is neither JSON nor, as its content type says, a form.
func valueOf(contentType string, body []byte) any {
	if v, err := decode.JSON(body); err == nil {
		return v
	}
	if decode.MediaType(contentType) != decode.FormType {
		return nil
	}
	v, err := forms.Decode(contentType, body)
	if err != nil {
		return nil
	}
	return v
}

// Envelope is the event as JSON: its facts, and as data its body, as it is where that is JSON, else as text in base64. White
// space of the body may go; its numbers and texts stay as they are written.
func (m Message) Envelope() ([]byte, error) {
	r := m.Receipt
	data := json.RawMessage(m.Body)
	if !utf8.Valid(m.Body) || !json.Valid(m.Body) {
		data = json.RawMessage(strconv.Quote(base64.StdEncoding.EncodeToString(m.Body)))
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(envelope{
		ID: r.ID, Type: m.Type, Provider: r.Provider, Source: r.Source, OccurredAt: stamp(m.OccurredAt),
		ReceivedAt: stamp(r.ReceivedAt), Key: r.Key, PossibleDuplicateOf: m.PossibleDuplicateOf, Data: data,
	})
	if err != nil {
		return nil, event.Rejectf("malformed_json", "the event cannot be put into an envelope")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

type envelope struct {
	ID                  string          `json:"id"`
	Type                string          `json:"type"`
	Provider            string          `json:"provider"`
	Source              string          `json:"source"`
	OccurredAt          string          `json:"occurred_at"`
	ReceivedAt          string          `json:"received_at"`
	Key                 string          `json:"key"`
	PossibleDuplicateOf string          `json:"possible_duplicate_of,omitempty"`
	Data                json.RawMessage `json:"data"`
}
