package runs

import (
	"encoding/json"
	"unicode/utf8"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
)

// rawPayload stores a body in the history unchanged. JSON is marked as such, so that Temporal Web shows it readably.
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
