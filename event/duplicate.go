package event

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Duplicates say how often an event came again. What came in the last seconds may be missing, and what a process had counted when
// it was killed is.
type Duplicates struct {
	Times     int64     `json:"times"`
	FirstSeen time.Time `json:"first_seen"`
	LastSeen  time.Time `json:"last_seen"`
}

// Duplicate is an event that came again.
type Duplicate struct {
	Provider, Key string
	// Owner is the ID of the event that has the key; "" where that is not known.
	Owner string
	At    time.Time
}

// Conflict is an event whose key an earlier one has, and that is another event all the same. It counts as a duplicate: a sender
// that reuses keys loses what comes second.
type Conflict struct {
	ID       int64  `json:"id"`
	Provider string `json:"provider"`
	Source   string `json:"source,omitempty"`
	Key      string `json:"key"`
	Type     string `json:"type,omitempty"`
	// EventID is the ID of the last one that was dropped; no row has it.
	EventID string `json:"event_id"`
	// Owner is the ID of the event that has the key.
	Owner            string    `json:"owner_id"`
	OwnerFingerprint string    `json:"owner_fingerprint"`
	Fingerprint      string    `json:"fingerprint"`
	FirstSeen        time.Time `json:"first_seen"`
	LastSeen         time.Time `json:"last_seen"`
	// Times is how often it came.
	Times int64 `json:"times"`
}

// ConflictQuery selects conflicts, the last seen first. Empty fields do not restrict.
type ConflictQuery struct {
	Provider string
	Source   string
	Key      string
	// Since and Until bound when it was seen last: Since ≤ time < Until.
	Since, Until time.Time
	// Before is the ID of the last one of the page before; 0 for the first page.
	Before int64
	// Limit is 1 to MaxPage; 0 means MaxPage.
	Limit int
}

// ConflictWith is the conflict of an event with the owner of its key; nil if it is another delivery of that, or if what the owner
// was is not on record.
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

// Apart gives the event a key of its own, since an owner with other content has the certain key that it came with. Another
// delivery of the same content gets the same key.
func (r Receipt) Apart(owner string) Receipt {
	sum := sha256.Sum256([]byte(r.Fingerprint))
	r.Earlier = &EarlierKey{Key: r.Key, Fingerprint: r.Fingerprint}
	r.Key = CanonicalKey(r.Provider, r.Key+":conflict:"+hex.EncodeToString(sum[:8]))
	r.ConflictsWith = owner
	return r
}

// IsConflict reports whether the conflict must not be dropped: the key is certain, so this is another event.
func (r Receipt) IsConflict(c *Conflict) bool { return c != nil && r.Certain && r.ConflictsWith == "" }

// IsUndecidable reports whether nothing tells a retry of the event from a second event with equal content, within the dedupe
// window: its key is guessed, and it has no delivery ID.
func (r Receipt) IsUndecidable() bool { return r.Content != "" && r.DedupeWindow > 0 }

// ApartFrom says that an event of the same key, received at a time, lies a dedupe window or more from this one, on either side:
// they are two events.
func (r Receipt) ApartFrom(receivedAt time.Time) bool {
	return r.DedupeWindow > 0 && r.ReceivedAt.Sub(receivedAt).Abs() >= time.Duration(r.DedupeWindow)
}

// BeforeWindowOf says that an event of the same key, received at a time, came a dedupe window or more after this one, which has
// waited meanwhile: that is no obstacle, but another event. A redelivery that runs as this event was received later than the
// event itself, whose ID has its time.
func (r Receipt) BeforeWindowOf(receivedAt time.Time) bool {
	first := r.ReceivedAt
	if made, ok := TimeOfID(r.ID); ok && made.Before(first) {
		first = made
	}
	return r.DedupeWindow > 0 && receivedAt.Sub(first) >= time.Duration(r.DedupeWindow)
}

// WindowStart is the beginning of the dedupe window that the event falls in, of those that follow one another since the beginning
// of time: two events of a key with the same are one. It is the zero time where the window never ends.
func (r Receipt) WindowStart() time.Time {
	if r.DedupeWindow <= 0 {
		return time.Time{}
	}
	return r.ReceivedAt.Truncate(time.Duration(r.DedupeWindow))
}

// ConflictError says that an event was not kept, since another one has its key.
type ConflictError struct{ Conflict Conflict }

func (e *ConflictError) Error() string { return "event " + e.Conflict.Owner + " has the key" }

// DuplicateError says that nothing of an event was kept, since it is another delivery of the event that has its key.
type DuplicateError struct {
	Owner string
	// OwnerWaits says that the owner is a dead letter.
	OwnerWaits bool
	// Conflict is set if the contents differ, and the key is not certain.
	Conflict *Conflict
}

func (e *DuplicateError) Error() string { return "event " + e.Owner + " has the key" }
