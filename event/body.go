package event

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// MaxInline is the max size in bytes of a body that is passed to Temporal, which refuses inputs over 2 MiB. A larger one stays in
// PostgreSQL.
const MaxInline = 3 << 19

// MaxBody is the max size in bytes of the body of an event.
const MaxBody = 25 << 20

// LargeBody describes a body that is stored in PostgreSQL only.
type LargeBody struct {
	// ID is the event ID under which the inbox has the body. A redelivery may run as an event with another ID.
	ID string `json:"id" jsonschema:"format=uuid"`
	// Size is in bytes; SHA256 is in hex.
	Size   int    `json:"size"`
	SHA256 string `json:"sha256"`
}

// NewLargeBody describes the body of an event.
func NewLargeBody(id string, body []byte) *LargeBody {
	sum := sha256.Sum256(body)
	return &LargeBody{ID: id, Size: len(body), SHA256: hex.EncodeToString(sum[:])}
}

// Is reports whether body is the described one.
func (l *LargeBody) Is(body []byte) bool { return *NewLargeBody(l.ID, body) == *l }

// LostText says that PostgreSQL no longer has the body, and what to do.
func (l *LargeBody) LostText() string {
	return fmt.Sprintf("PostgreSQL doesn't have the event's body of %d bytes (SHA-256 %s): it was set back to before the event; "+
		"ask the provider to send the event again, which resolves the dead letter, or discard it", l.Size, l.SHA256)
}

// LargeRow returns what the row of a large event has as its workflow ID. It has no colon, so that it isn't one, and no two events
// share a row.
func LargeRow(eventID string) string { return "large/" + eventID }

// WithoutMark returns a body without the byte order mark that some senders put before their JSON. Stored bytes keep it.
func WithoutMark(body []byte) []byte { return bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")) }
