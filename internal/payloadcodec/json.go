package payloadcodec

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"
)

// ErrMalformed is returned for text that isn't JSON of temporal.api.common.v1.Payloads.
var ErrMalformed = errors.New("the text is not JSON of payloads")

// EncodeJSON is Encode for the format in which Temporal Web and the command lines send payloads: {"payloads": […]}.
func (c *Codec) EncodeJSON(text []byte) ([]byte, error) { return translate(text, c.Encode) }

// DecodeJSON is Decode for the same format, for display: a payload of text other than JSON, such as a form, becomes a JSON
// string, since these programs show anything else as base64. Histories and the wire keep it unchanged.
func (c *Codec) DecodeJSON(text []byte) ([]byte, error) {
	return translate(text, func(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
		opened, err := c.Decode(payloads)
		for i, p := range opened {
			if isText(p) {
				opened[i] = shown(p)
			}
		}
		return opened, err
	})
}

func translate(text []byte, by func([]*commonpb.Payload) ([]*commonpb.Payload, error)) ([]byte, error) {
	var all commonpb.Payloads
	if protojson.Unmarshal(text, &all) != nil {
		return nil, ErrMalformed // the library's error quotes the text
	}
	translated, err := by(all.GetPayloads())
	if err != nil {
		return nil, err
	}
	answer, err := protojson.Marshal(&commonpb.Payloads{Payloads: translated})
	if err != nil {
		return nil, fmt.Errorf("marshal payloads: %w", err)
	}
	return answer, nil
}

func isText(p *commonpb.Payload) bool {
	data := p.GetData()
	return string(p.GetMetadata()[converter.MetadataEncoding]) == converter.MetadataEncodingBinary &&
		len(data) > 0 && utf8.Valid(data) && !strings.ContainsFunc(string(data), isUnreadable)
}

func isUnreadable(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\r' && c != '\t' }

// shown returns the text as a JSON string.
func shown(p *commonpb.Payload) *commonpb.Payload {
	var data strings.Builder
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false)
	if err := e.Encode(string(p.GetData())); err != nil {
		return p // a string can always be encoded
	}
	return &commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)},
		Data:     []byte(strings.TrimSuffix(data.String(), "\n")),
	}
}
