package runs

import (
	"encoding/json"
	"unicode/utf8"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
)

// rawPayload carries a body into the history as it is: no encoding, no whitespace lost. Marked as JSON where it is JSON, so
// that Temporal Web shows it readable.
func rawPayload(body []byte) converter.RawValue {
	encoding := converter.MetadataEncodingBinary
	if utf8.Valid(body) && json.Valid(body) {
		encoding = converter.MetadataEncodingJSON
	}
	return converter.NewRawValue(&commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encoding)},
		Data:     body,
	})
}
