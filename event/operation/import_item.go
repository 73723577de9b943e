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

// ImportRecord is the type of a line in an import.
type ImportRecord string

// The record types of an import.
const (
	// ImportKey: an event with this key was handled; nothing else is known.
	ImportKey ImportRecord = "key"
	// ImportEvent: a handled event with its body.
	ImportEvent ImportRecord = "event"
	// ImportDeadLetter: an event that wasn't handled and can be replayed.
	ImportDeadLetter ImportRecord = "dead_letter"
	// ImportEntity: the state of an entity at a time, without the events that led to it.
	ImportEntity ImportRecord = "entity"
)

// ImportRecords lists all record types.
func ImportRecords() []ImportRecord {
	return []ImportRecord{ImportKey, ImportEvent, ImportDeadLetter, ImportEntity}
}

// ImportItem is one imported item. A key has a receipt, an event also a body, a dead letter also Failure, and an entity only
// Entity.
type ImportItem struct {
	Record ImportRecord `json:"record"`
	// Line is its line in the file, from 1.
	Line    int64           `json:"line"`
	Receipt event.Receipt   `json:"receipt,omitzero"`
	Body    []byte          `json:"-"`
	Failure *ImportFailure  `json:"failure,omitempty"`
	Entity  *ImportSnapshot `json:"entity,omitempty"`
	// Stored is set for data archived by Holdfast, which is restored unchanged. It omits the receipt, which is in Receipt.
	Stored *retention.Stored `json:"stored,omitempty"`
}

// ImportFailure describes the failure of an event in its original system.
type ImportFailure struct {
	// Exhausted: it isn't retried automatically.
	Exhausted     bool      `json:"exhausted,omitempty"`
	Attempts      int       `json:"attempts"`
	Error         string    `json:"error,omitempty"`
	FirstFailedAt time.Time `json:"first_failed_at"`
	LastFailedAt  time.Time `json:"last_failed_at"`
}

// ImportSnapshot is the state of an entity at a time.
type ImportSnapshot struct {
	event.EntityRef
	State   json.RawMessage `json:"state"`
	Deleted bool            `json:"deleted,omitempty"`
	Version *int64          `json:"version,omitempty"`
	// Names are the other names of the entity: see event.Name. ExternalID is the best one.
	Names []event.Name `json:"names,omitempty"`
	// AsOf orders it before events that occurred later.
	AsOf time.Time `json:"as_of"`
}

// ID returns the ID of the change: the same for the same entity and time.
func (s ImportSnapshot) ID() string {
	version := "-"
	if s.Version != nil {
		version = fmt.Sprint(*s.Version)
	}
	sum := hashOfTexts("entity", s.Provider, s.Kind, s.ExternalID, version, s.AsOf.UTC().Format(time.RFC3339Nano))
	sum[0], sum[1] = 0, 0 // sorts before most events of the same millisecond
	return timedID(s.AsOf, sum)
}

// ImportedID returns the ID of an event received elsewhere. It depends only on its arguments, so that a repeated import finds the
// event again.
func ImportedID(provider, key string, receivedAt time.Time) string {
	return timedID(receivedAt, hashOfTexts("event", provider, key))
}

// KeyOwnerID returns an ID for an event of which only the key is known. No event has its UUID version, 8.
func KeyOwnerID(provider, key string) string {
	sum := hashOfTexts("key", provider, key)
	return uuidOf(8, [16]byte(sum[:16]))
}

func hashOfTexts(texts ...string) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	h.Sum(sum[:0])
	return sum
}

// timedID returns a UUIDv7 with a given time and bits from a hash.
func timedID(at time.Time, from [sha256.Size]byte) string {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], uint64(max(at.UnixMilli(), 0))<<16)
	copy(id[6:], from[:10])
	return uuidOf(7, id)
}

// uuidOf sets version and variant (RFC 9562, 4.1 and 4.2).
func uuidOf(version byte, id [16]byte) string {
	id[6] = id[6]&0x0f | version<<4
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
