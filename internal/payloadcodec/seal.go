package payloadcodec

import (
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"google.golang.org/protobuf/proto"
)

// Seal encrypts data that is stored outside of Temporal. The result names its key.
func (c *Codec) Seal(plain []byte) ([]byte, error) {
	sealed, err := c.Encode([]*commonpb.Payload{{Data: plain}})
	if err != nil {
		return nil, err
	}
	text, err := proto.Marshal(sealed[0])
	if err != nil {
		return nil, fmt.Errorf("marshal what is sealed: %w", err)
	}
	return text, nil
}

// Open decrypts the result of Seal with any of the keys. Its errors are those of Decode.
func (c *Codec) Open(sealed []byte) ([]byte, error) {
	var payload commonpb.Payload
	if proto.Unmarshal(sealed, &payload) != nil { // its error may quote the bytes
		return nil, ErrUnreadable
	}
	opened, err := c.Decode([]*commonpb.Payload{&payload})
	if err != nil {
		return nil, err
	}
	return opened[0].GetData(), nil
}
