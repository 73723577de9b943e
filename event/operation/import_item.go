package operation

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"holdfast/event"
	"holdfast/event/retention"
)

// ImportRecord is what one line of an import brings.
type ImportRecord string

// The records of an import.
const (
	// ImportKey: an event of this key was handled; nothing else is known of it.
	ImportKey ImportRecord = "key"
	// ImportEvent: an event that was handled, with its bytes.
	ImportEvent ImportRecord = "event"
	// ImportDeadLetter: an event that was not, and waits to be run again.
	ImportDeadLetter ImportRecord = "dead_letter"
	// ImportEntity: what an entity was at a time, whatever events had made it so.
	ImportEntity ImportRecord = "entity"
)

// ImportRecords are all of them.
func ImportRecords() []ImportRecord {
	return []ImportRecord{ImportKey, ImportEvent, ImportDeadLetter, ImportEntity}
}

// ImportItem is one thing that an import brings. It is of one of the records: a key has a receipt, an event a body as well, a
// dead letter both and what had gone wrong, and an entity only what it was.
type ImportItem struct {
	Record ImportRecord `json:"record"`
	// Line is where it stands in its file, from 1.
	Line    int64           `json:"line"`
	Receipt event.Receipt   `json:"receipt,omitzero"`
	Body    []byte          `json:"-"`
	Trouble *ImportTrouble  `json:"trouble,omitempty"`
	Entity  *ImportSnapshot `json:"entity,omitempty"`
	// Stored is set for what a Holdfast has archived: it comes back as it was. Its receipt is Receipt, and not repeated there.
	Stored *retention.Stored `json:"stored,omitempty"`
}

// ImportTrouble is what had gone wrong with an event in the system that it comes from.
type ImportTrouble struct {
	// Exhausted says that it waits for somebody: nothing tries it again by itself.
	Exhausted bool `json:"exhausted,omitempty"`
	// Attempts is how often it was tried.
	Attempts int `json:"attempts"`
	// Error is what that system says of it.
	Error         string    `json:"error,omitempty"`
	FirstFailedAt time.Time `json:"first_failed_at"`
	LastFailedAt  time.Time `json:"last_failed_at"`
}

// ImportSnapshot is what an entity was at a time.
type ImportSnapshot struct {
	event.EntityRef
	State   json.RawMessage `json:"state"`
	Deleted bool            `json:"deleted,omitempty"`
	Version *int64          `json:"version,omitempty"`
	// Names are the lesser names of an entity that has several: see event.Name. ExternalID is the best of them.
	Names []event.Name `json:"names,omitempty"`
	// AsOf is its place below the events that occurred later.
	AsOf time.Time `json:"as_of"`
}

// ID is that of the change that the snapshot is: the same for the same entity and time.
func (s ImportSnapshot) ID() string {
	version := "-"
	if s.Version != nil {
		version = fmt.Sprint(*s.Version)
	}
	sum := hashOfTexts("entity", s.Provider, s.Kind, s.ExternalID, version, s.AsOf.UTC().Format(time.RFC3339Nano))
	sum[0], sum[1] = 0, 0 // below most events of the same millisecond
	return timedID(s.AsOf, sum)
}

// ImportedID is the ID of an event that was received at a time, elsewhere: the same for the same key and time, so that an import
// that is repeated finds the event again.
func ImportedID(provider, key string, receivedAt time.Time) string {
	return timedID(receivedAt, hashOfTexts("event", provider, key))
}

// KeyHolderID stands for an event of which only the key is known. Its version (8) tells it from the ID of an event.
func KeyHolderID(provider, key string) string {
	sum := hashOfTexts("key", provider, key)
	return uuidOf(8, [16]byte(sum[:16]))
}

// hashOfTexts tells lists of texts apart.
func hashOfTexts(texts ...string) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	h.Sum(sum[:0])
	return sum
}

// timedID is a UUIDv7 with a time, and the rest from a hash.
func timedID(at time.Time, from [sha256.Size]byte) string {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], uint64(max(at.UnixMilli(), 0))<<16)
	copy(id[6:], from[:10])
	return uuidOf(7, id)
}

// uuidOf gives the bytes of an ID their version and variant (RFC 9562, 4.1 and 4.2).
func uuidOf(version byte, id [16]byte) string {
	id[6] = id[6]&0x0f | version<<4
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
