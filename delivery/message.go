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

// IDOf returns the ID of a generation. An event that is resent on request gets a new ID, since a standard destination drops known
// IDs.
func IDOf(id string, generation int) string {
	if generation == 0 {
		return id
	}
	return id + "-" + strconv.Itoa(generation)
}

// Input returns the input of subscription expressions: {headers, query, path, body} as in definitions, with the batch envelope as
// $root, and .event: {id, provider, source, type, key, received_at, occurred_at, workflow_id}. Times are RFC 3339 in UTC. The
// body is null unless it is JSON or a form.
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

// forms decodes form bodies. JSON bodies don't go through it, because it accepts only objects.
var forms = decode.New(&definition.Problems{}, []definition.Decode{{ContentType: decode.FormType, As: "form"}, {As: "text"}})

// valueOf returns nil for a body that is neither JSON nor, by its content type, a form.
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

// Envelope returns the event as JSON: its metadata, and its body as data: unchanged if it is JSON, else as a base64 string. White
// space of the body may go; numbers and strings stay as they are written.
func (m Message) Envelope() ([]byte, error) {
	r := m.Receipt
	data := json.RawMessage(event.WithoutMark(m.Body))
	if !utf8.Valid(data) || !json.Valid(data) {
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
		return nil, event.Rejectf("malformed_json", "the event can't be put into an envelope")
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

// Trial is the result of sending a test event to a subscription. It isn't a delivery: it isn't stored, and counts neither for the
// retry policy nor for the breaker.
type Trial struct {
	// EventID is a new ID each time, so that the destination doesn't drop the event.
	EventID  string `json:"event_id" jsonschema:"format=uuid"`
	Provider string `json:"provider"`
	Type     string `json:"type"`
	// Of names the event that was sent: "sample", or "event" and its ID.
	Of string `json:"of"`
	// Matches reports whether the subscription matches the event.
	Matches bool   `json:"matches"`
	OK      bool   `json:"ok"`
	Code    string `json:"code"`
	Error   string `json:"error,omitempty"`
	MS      int    `json:"ms"`
	// Answer is the beginning of the response, at most MaxAnswer bytes.
	Answer []byte `json:"answer,omitempty"`
	// Findings lists samples that match the subscription and can't be turned into a request.
	Findings []Finding `json:"findings,omitempty"`
}

// Finding is the result of one check of a subscription.
type Finding struct {
	// About names the check: "task_queue", "search_attribute" …
	About string `json:"about"`
	OK    bool   `json:"ok"`
	// Text is the result, and how to fix a problem.
	Text string `json:"text"`
	// Command is a command line that does the same as the delivery, or shows more.
	Command string `json:"command,omitempty"`
}
