package payloadcodec

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// keySize is the key size of AES-256, in bytes.
const keySize = 32

// Key is an AES-256 key and the ID by which payloads refer to it.
type Key struct {
	ID     string
	secret [keySize]byte
}

// keyID keeps IDs readable in histories and free of the separators of an entry.
var keyID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// NewKey generates a random key.
func NewKey(id string) (Key, error) {
	if !keyID.MatchString(id) {
		return Key{}, fmt.Errorf("invalid key id %q: use up to 64 letters, digits and . _ -", id)
	}
	k := Key{ID: id}
	_, _ = rand.Read(k.secret[:]) // never fails
	return k, nil
}

// Entry returns the key as written in the configuration: id:base64.
func (k Key) Entry() string { return k.ID + ":" + base64.StdEncoding.EncodeToString(k.secret[:]) }

// String returns the ID, so that printing never shows a key.
func (k Key) String() string { return "payload key " + k.ID }

// GoString returns the same as String.
func (k Key) GoString() string { return k.String() }

// ParseKeys parses entries separated by commas or line ends. Errors quote no part of an entry, because an intended ID may be a
// key.
func ParseKeys(text string) ([]Key, error) {
	var keys []Key
	seen := map[string]bool{}
	for entry := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(",\r\n", r) }) {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		k, err := parseKey(entry)
		if err != nil {
			return nil, fmt.Errorf("entry %d %w", len(keys)+1, err)
		}
		if seen[k.ID] {
			return nil, fmt.Errorf("entry %d has the id of another one", len(keys)+1)
		}
		seen[k.ID] = true
		keys = append(keys, k)
	}
	return keys, nil
}

func parseKey(entry string) (Key, error) {
	id, text, ok := strings.Cut(entry, ":")
	if !ok {
		return Key{}, errors.New("is not id:key")
	}
	if !keyID.MatchString(id) {
		return Key{}, errors.New("has no usable id: up to 64 letters, digits and . _ -")
	}
	secret, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return Key{}, errors.New("has a key that is not base64")
	}
	if len(secret) != keySize {
		return Key{}, fmt.Errorf("has a key of %d bytes; it must be of %d", len(secret), keySize)
	}
	return Key{ID: id, secret: [keySize]byte(secret)}, nil
}
