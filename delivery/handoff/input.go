package handoff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"holdfast/delivery"
	"holdfast/providers/jq"
)

const (
	// maxInput is how large one input may be, in bytes. Temporal warns above it, and what is large stays in a history for long.
	maxInput = 256 << 10
	// maxInputs is for all of an order together, below the 2 MiB that Temporal takes.
	maxInputs = 1 << 20
	// maxSummary is what Temporal takes, in bytes, less what a codec adds.
	maxSummary = 200
)

// inputs makes the inputs of an order.
type inputs struct {
	eventID   string
	reference string
	message   delivery.Message
	// room is what is left of maxInputs.
	room int
}

// all gives the inputs of a list, each as json/plain.
func (e *evaluation) all(field string, sources []delivery.JQ) ([]*commonpb.Payload, error) {
	var all []*commonpb.Payload
	for i, source := range sources {
		one, err := e.one(fmt.Sprintf("%s[%d]", field, i), source)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func (e *evaluation) one(field string, source delivery.JQ) (*commonpb.Payload, error) {
	if source == delivery.BodyEnvelope {
		data, err := e.message.Envelope()
		if err != nil {
			return nil, err
		}
		return e.fit(e.intoEnvelope(data)), nil
	}
	value, err := e.first(field, source)
	if err != nil {
		return nil, err
	}
	if data, err := jq.Marshal(e.named(value), maxInput); err == nil {
		return e.fit(data), nil
	}
	return e.refer(), nil // being too large is the one reason
}

// named is a value that names the event, if it is an object and does not do so by itself.
func (in *inputs) named(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	if _, has := object["event_id"]; has {
		return value
	}
	object = maps.Clone(object)
	object["event_id"] = in.eventID
	return object
}

// intoEnvelope puts the event's ID before the fields of an envelope, under the name that every input has it by.
func (in *inputs) intoEnvelope(envelope []byte) []byte {
	return append([]byte(`{"event_id":"`+in.eventID+`",`), bytes.TrimPrefix(envelope, []byte("{"))...)
}

// fit is the payload of an input, or the reference to the event where it is too large.
func (in *inputs) fit(data []byte) *commonpb.Payload {
	if len(data) > min(maxInput, in.room) {
		return in.refer()
	}
	in.room -= len(data)
	return plain(data)
}

// refer stands for what is too large: the receiver reads the event where it is stored.
func (in *inputs) refer() *commonpb.Payload {
	return jsonPayload(map[string]string{"event_id": in.eventID, "reference": in.reference})
}

func plain(data []byte) *commonpb.Payload {
	return &commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}, Data: data,
	}
}

func jsonPayload(v any) *commonpb.Payload {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts, and maps of texts
	}
	return plain(data)
}

// summaryPayload is the beginning of a text, as much as Temporal takes.
func summaryPayload(text string) *commonpb.Payload {
	for {
		p := jsonPayload(text)
		if len(p.GetData()) <= maxSummary {
			return p
		}
		cut := min(len(text)*3/4, maxSummary)
		text = strings.ToValidUTF8(text[:cut], "")
	}
}
