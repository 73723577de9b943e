package jws

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
)

// ErrMalformed is the error of a text that isn't a token in the compact form, or that demands an extension.
var ErrMalformed = errors.New("not a signed token")

// Token is a token that is parsed but not verified.
type Token struct {
	Algorithm, KeyID string
	// Content is what is signed: the encoded header, a dot, and the encoded payload.
	Content   string
	Payload   []byte
	Signature []byte
	// head is the decoded header.
	head []byte
}

// header are the fields of a token's header that are read. Crit is a list of extensions without which the token must not be
// accepted; there is none that we know.
type header struct {
	Algorithm string          `json:"alg"`
	KeyID     string          `json:"kid"`
	Critical  json.RawMessage `json:"crit"`
}

// maxHeader bounds the encoded header, which is parsed before the signature is verified. Some senders put certificates into it.
const maxHeader = 32 << 10

// Parse parses the compact form: three parts in base64url without padding, with dots between them.
func Parse(text string) (Token, error) {
	token, parts, err := parse(text)
	if err != nil {
		return Token{}, err
	}
	token.Content = text[:len(parts[0])+1+len(parts[1])]
	if token.Payload, err = decodePart(parts[1]); err != nil {
		return Token{}, ErrMalformed
	}
	return token, nil
}

// ParseDetached parses the compact form without its payload (RFC 7515, appendix F): Attach adds it.
func ParseDetached(text string) (Token, error) {
	token, parts, err := parse(text)
	if err != nil || parts[1] != "" {
		return Token{}, ErrMalformed
	}
	token.Content = parts[0] + "."
	return token, nil
}

// Attach returns a detached token with its payload.
func (t Token) Attach(payload []byte) Token {
	t.Payload = payload
	t.Content += base64.RawURLEncoding.EncodeToString(payload)
	return t
}

// parse parses header and signature, and returns all three parts.
func parse(text string) (token Token, parts []string, err error) {
	parts = strings.SplitN(text, ".", 4)
	if len(parts) != 3 || len(parts[0]) > maxHeader {
		return Token{}, nil, ErrMalformed
	}
	var head header
	text1, err1 := decodePart(parts[0])
	signature, err2 := decodePart(parts[2])
	if errors.Join(err1, err2) != nil || !isObject(text1) || json.Unmarshal(text1, &head) != nil || head.Critical != nil {
		return Token{}, nil, ErrMalformed
	}
	return Token{Algorithm: head.Algorithm, KeyID: head.KeyID, Signature: signature, head: text1}, parts, nil
}

// Field returns a text in the header; "" if there is none.
func (t Token) Field(name string) string {
	var fields map[string]any
	if json.Unmarshal(t.head, &fields) != nil {
		return ""
	}
	text, _ := fields[name].(string)
	return text
}

// Payload returns the payload of a token in the compact form, without any check of its signature.
func Payload(text string) ([]byte, error) {
	token, err := Parse(strings.TrimSpace(text))
	return token.Payload, err
}

func decodePart(part string) ([]byte, error) {
	return base64.RawURLEncoding.Strict().DecodeString(part)
}

// isObject reports whether a text is an object of distinct fields: a second alg or kid would have another reader see another one.
func isObject(text []byte) bool {
	reader := json.NewDecoder(strings.NewReader(string(text)))
	if first, err := reader.Token(); err != nil || first != json.Delim('{') {
		return false
	}
	seen := map[string]bool{}
	for reader.More() {
		name, err := reader.Token()
		key, isText := name.(string)
		var value json.RawMessage
		if err != nil || !isText || seen[strings.ToLower(key)] || reader.Decode(&value) != nil {
			return false
		}
		seen[strings.ToLower(key)] = true // as encoding/json compares them
	}
	return true
}
