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
	// maxInput bounds one input, in bytes. Temporal warns above it, and large inputs stay in the history.
	maxInput = 256 << 10
	// maxInputs bounds all inputs of a request, below Temporal's limit of 2 MiB.
	maxInputs = 1 << 20
	// maxSummary is Temporal's limit in bytes, minus the overhead of a codec.
	maxSummary = 200
)

// inputs builds the inputs of a request.
type inputs struct {
	eventID   string
	reference string
	message   delivery.Message
	// remaining is the unused part of maxInputs.
	remaining int
}

// all evaluates a list of inputs, each encoded as json/plain.
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
	return e.refer(), nil // the only possible error is the size
}

// named adds event_id to an object that lacks it.
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

// intoEnvelope adds event_id, the name of the ID in every input, to an envelope.
func (in *inputs) intoEnvelope(envelope []byte) []byte {
	return append([]byte(`{"event_id":"`+in.eventID+`",`), bytes.TrimPrefix(envelope, []byte("{"))...)
}

// fit returns the payload of an input, or a reference to the event if the input is too large.
func (in *inputs) fit(data []byte) *commonpb.Payload {
	if len(data) > min(maxInput, in.remaining) {
		return in.refer()
	}
	in.remaining -= len(data)
	return plain(data)
}

// refer replaces an input that is too large: the workflow can read the event through the API.
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
		panic(err) // strings and maps of strings always encode
	}
	return plain(data)
}

// summaryPayload truncates text to Temporal's limit.
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
