package event

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Duplicates counts the redeliveries of an event. Those of the last seconds may be missing, and so are those that a killed
// process had counted.
type Duplicates struct {
	Times     int64     `json:"times"`
	FirstSeen time.Time `json:"first_seen"`
	LastSeen  time.Time `json:"last_seen"`
	// Rewritten counts those whose body had other bytes, and was the same JSON value.
	Rewritten int64 `json:"rewritten,omitempty"`
}

// Duplicate is a redelivery of an event.
type Duplicate struct {
	Provider, Key string
	// Owner is the ID of the event that owns the key; "" if unknown.
	Owner string
	At    time.Time
	// Rewritten: its body had other bytes, and was the same JSON value.
	Rewritten bool
}

// Conflict is an event with the key of an earlier event but other content. If its key is certain, it is
// kept as a dead letter under a key of its own (WithConflictKey); otherwise it is dropped and counts as a duplicate.
type Conflict struct {
	ID       int64  `json:"id"`
	Provider string `json:"provider"`
	Source   string `json:"source,omitempty"`
	Key      string `json:"key"`
	Type     string `json:"type,omitempty"`
	// EventID is the ID of the last dropped event; no row has it.
	EventID string `json:"event_id"`
	// Owner is the ID of the event that owns the key.
	Owner            string `json:"owner_id"`
	OwnerFingerprint string `json:"owner_fingerprint"`
	// Fingerprint is "sha256:" and the hash of the body or, if the body is the key, the sender's delivery ID.
	Fingerprint string    `json:"fingerprint"`
	FirstSeen   time.Time `json:"first_seen"`
	LastSeen    time.Time `json:"last_seen"`
	Times       int64     `json:"times"`
}

// ConflictQuery selects conflicts, last seen first. Empty fields match everything.
type ConflictQuery struct {
	Provider string
	Source   string
	Key      string
	// Since and Until bound when it was last seen: Since ≤ time < Until.
	Since, Until time.Time
	// Before is the ID of the last conflict on the previous page; 0 for the first page.
	Before int64
	// Limit is 1 to MaxPage; 0 means MaxPage.
	Limit int
}

// ConflictWith returns the conflict of an event with the owner of its key. It returns nil if the event is a redelivery of the
// owner, or if the owner's fingerprint is unknown.
func (r Receipt) ConflictWith(owner, fingerprint string) *Conflict {
	if owner == "" || owner == r.ID || fingerprint == "" || r.Fingerprint == "" || fingerprint == r.Fingerprint {
		return nil
	}
	return &Conflict{
		Provider: r.Provider, Source: r.Source, Key: r.Key, Type: r.Type, EventID: r.ID,
		Owner: owner, OwnerFingerprint: fingerprint, Fingerprint: r.Fingerprint,
		FirstSeen: r.ReceivedAt, LastSeen: r.ReceivedAt, Times: 1,
	}
}

// WithConflictKey assigns a new key to an event whose key is certain but belongs to another event. Redeliveries with the same
// content get the same key.
func (r Receipt) WithConflictKey(owner string) Receipt {
	sum := sha256.Sum256([]byte(r.Fingerprint))
	r.Earlier = &EarlierKey{Key: r.Key, Fingerprint: r.Fingerprint}
	r.Key = CanonicalKey(r.Provider, r.Key+":conflict:"+hex.EncodeToString(sum[:8]))
	r.ConflictsWith = owner
	return r
}

// IsConflict reports whether the conflicting event must be kept, because its key is certain.
func (r Receipt) IsConflict(c *Conflict) bool { return c != nil && r.Certain && r.ConflictsWith == "" }

// IsUndecidable reports whether a retry of the event can't be told from a second event with equal content: its key is guessed,
// and it has no delivery ID.
func (r Receipt) IsUndecidable() bool { return r.Content != "" && r.DedupeWindow > 0 }

// OutsideWindowOf reports whether an event with the same key, received at the given time, is at least a dedupe window away, so
// that the two are distinct events.
func (r Receipt) OutsideWindowOf(receivedAt time.Time) bool {
	return r.DedupeWindow > 0 && r.ReceivedAt.Sub(receivedAt).Abs() >= time.Duration(r.DedupeWindow)
}

// BeforeWindowOf reports whether an event with the same key, received at the given time, came at least a dedupe window after this
// one, so that it is a distinct event. If this one is a redelivery, the time in its ID counts.
func (r Receipt) BeforeWindowOf(receivedAt time.Time) bool {
	first := r.ReceivedAt
	if made, ok := TimeOfID(r.ID); ok && made.Before(first) {
		first = made
	}
	return r.DedupeWindow > 0 && receivedAt.Sub(first) >= time.Duration(r.DedupeWindow)
}

// WindowStart returns the start of the event's dedupe window, when time is divided into consecutive windows: events with equal
// key and window are duplicates. It is zero if the window never ends.
func (r Receipt) WindowStart() time.Time {
	if r.DedupeWindow <= 0 {
		return time.Time{}
	}
	return r.ReceivedAt.Truncate(time.Duration(r.DedupeWindow))
}

// Owner is the event that owns a key.
type Owner struct {
	ID string
	// Fingerprint is "" if unknown, as for an imported event.
	Fingerprint string
	ReceivedAt  time.Time
	// Status is "" if it has no row: it waits, failed before it had one, is purged, or only its key was imported.
	Status Status
	// DeadLetterID is the number of its open dead letter; 0 if there is none.
	DeadLetterID int64
}

// ConflictError is returned for an event that wasn't stored because another event owns its key.
type ConflictError struct{ Conflict Conflict }

func (e *ConflictError) Error() string { return "event " + e.Conflict.Owner + " owns the key" }

// DuplicateError is returned for an event that wasn't stored because it is a redelivery of the event that owns its key.
type DuplicateError struct {
	Owner string
	// OwnerWaits: the owner is a dead letter.
	OwnerWaits bool
	// Conflict is set if the contents differ and the key isn't certain.
	Conflict *Conflict
}

func (e *DuplicateError) Error() string { return "event " + e.Owner + " owns the key" }
