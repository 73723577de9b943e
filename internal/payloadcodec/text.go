package payloadcodec

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
)

// isText reports whether a payload is readable text.
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
