package payloadcodec

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// The metadata of an encrypted payload.
const (
	// Encoding marks a payload as encrypted.
	Encoding = "binary/encrypted"
	// MetadataKeyID names the key that encrypted it.
	MetadataKeyID = "encryption-key-id"
)

// MissingKeyError is returned for a payload whose key the codec doesn't have.
type MissingKeyError struct{ ID string }

func (e *MissingKeyError) Error() string {
	return fmt.Sprintf("the payload needs the key %q, which is not among the payload keys", e.ID)
}

// ErrUnreadable is returned for a payload that was changed, truncated or encrypted with another key of the same ID.
var ErrUnreadable = errors.New("the payload does not fit its key")

// Codec encrypts whole payloads, including their metadata, with AES-256-GCM under random nonces. It is safe for concurrent use.
type Codec struct {
	first  *sealer // nil encrypts nothing
	sealer map[string]*sealer
}

var _ converter.PayloadCodec = (*Codec)(nil)

// New returns a codec that encrypts with the first key and decrypts with all of them. Without a key it leaves payloads in clear.
func New(keys []Key) *Codec {
	c := &Codec{sealer: make(map[string]*sealer, len(keys))}
	for _, k := range keys {
		s := newSealer(k)
		c.sealer[k.ID] = s
		if c.first == nil {
			c.first = s
		}
	}
	return c
}

// Encrypts reports whether the codec has a key.
func (c *Codec) Encrypts() bool { return c.first != nil }

// Encode encrypts each payload.
func (c *Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	if c.first == nil {
		return payloads, nil
	}
	sealed := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		var err error
		if sealed[i], err = c.first.seal(p); err != nil {
			return nil, err
		}
	}
	return sealed, nil
}

// Decode decrypts encrypted payloads and leaves others, which are older than the keys, unchanged.
func (c *Codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	opened := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		opened[i] = p
		if string(p.GetMetadata()[converter.MetadataEncoding]) != Encoding {
			continue
		}
		id := string(p.GetMetadata()[MetadataKeyID])
		s, ok := c.sealer[id]
		if !ok {
			return nil, &MissingKeyError{ID: id}
		}
		var err error
		if opened[i], err = s.open(p.GetData()); err != nil {
			return nil, fmt.Errorf("decrypt payload with key %q: %w", id, err)
		}
	}
	return opened, nil
}

type sealer struct {
	aead cipher.AEAD
	id   []byte
	// bound is authenticated with every payload: the metadata, which are in clear.
	bound []byte
}

func newSealer(k Key) *sealer {
	block, err := aes.NewCipher(k.secret[:])
	if err != nil {
		panic(err) // the key has the right size
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // the block is AES
	}
	return &sealer{aead: aead, id: []byte(k.ID), bound: []byte(Encoding + "\n" + k.ID)}
}

// seal encrypts in the buffer that the payload is marshaled into.
func (s *sealer) seal(p *commonpb.Payload) (*commonpb.Payload, error) {
	buffer := make([]byte, 0, proto.Size(p)+s.aead.Overhead())
	plain, err := proto.MarshalOptions{}.MarshalAppend(buffer, p)
	if err != nil {
		return nil, fmt.Errorf("marshal payload: %w", err)
	}
	return &commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(Encoding), MetadataKeyID: s.id},
		Data:     s.aead.Seal(plain[:0], nil, plain, s.bound), //nolint:gosec // the cipher makes the nonce itself
	}, nil
}

func (s *sealer) open(data []byte) (*commonpb.Payload, error) {
	plain, err := s.aead.Open(nil, nil, data, s.bound)
	if err != nil {
		return nil, ErrUnreadable
	}
	p := &commonpb.Payload{}
	if err := proto.Unmarshal(plain, p); err != nil {
		return nil, ErrUnreadable
	}
	return p, nil
}

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

// Open decrypts the result of Seal with any of the keys. It fails as Decode does.
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
