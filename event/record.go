package event

import (
	"encoding/json"
	"errors"
	"time"
)

// ErrNotFound says that there is no such event, entity or dead letter.
var ErrNotFound = errors.New("not found")

// Record is a stored event: its receipt and how far it has come.
type Record struct {
	Receipt Receipt `json:"receipt"`
	// Type is the type that the parse step gave it.
	Type   string `json:"type"`
	Status Status `json:"status"`
	// Outcome is empty until the event has been processed.
	Outcome Outcome `json:"outcome,omitempty"`
	// Run is the last run that persisted or processed the event.
	Run               Run       `json:"run"`
	OccurredAt        time.Time `json:"occurred_at"`
	OccurredAtMissing bool      `json:"occurred_at_missing,omitempty"`
	// PossibleDuplicateOf is the ID of the first event with the same content, if the key is guessed; "" if there is none.
	PossibleDuplicateOf string     `json:"possible_duplicate_of,omitempty"`
	PersistedAt         time.Time  `json:"persisted_at"`
	ProcessedAt         *time.Time `json:"processed_at,omitempty"`
	// Body is what was received, byte for byte; nil in lists.
	Body []byte `json:"-"`
	// Payload is the projection of Body for queries: not exact, and nil if Body is no JSON. PayloadNote says how it
	// differs.
	Payload     json.RawMessage `json:"payload,omitempty"`
	PayloadNote string          `json:"payload_note,omitempty"`
	// Links are the changes that the event made; nil in lists.
	Links []Link `json:"links,omitempty"`
}

// Link is a change as it is stored: one event's effect on one entity.
type Link struct {
	EntityRef
	EventID string `json:"event_id"`
	// EventType is empty if the event has been purged.
	EventType string `json:"event_type,omitempty"`
	// Position is the place of the change in its event, from 1.
	Position   int             `json:"position"`
	Op         Op              `json:"op"`
	State      json.RawMessage `json:"state"`
	Version    *int64          `json:"version,omitempty"`
	OccurredAt time.Time       `json:"occurred_at"`
	// WithoutEffect: it came after the history in which it belongs had been collapsed.
	WithoutEffect bool `json:"without_effect,omitempty"`
}

// RecordQuery selects stored events, newest first. Empty fields do not restrict.
type RecordQuery struct {
	Provider string
	// Source is the sender within the provider.
	Source string
	Type   string
	Status Status
	// Key is the idempotency key, as the provider gave it or canonical.
	Key string
	// PossibleDuplicates selects the events that name another one with the same content.
	PossibleDuplicates bool
	// DeliveryStatus selects the events that have a delivery with this status: see delivery.Status.
	DeliveryStatus string
	// Entity selects the events that changed it; nil does not restrict.
	Entity *EntityRef
	// Since and Until bound when the event was accepted, to the millisecond: Since ≤ time < Until. It is the time in the
	// event's ID.
	Since, Until time.Time
	// Text is in the body, byte for byte or as JSON escapes it. Only SearchEvents looks at it, among the newest events that
	// the rest of the query selects.
	Text string
	// Before is the ID of the last event of the page before; empty for the first page.
	Before string
	// Limit is 1 to MaxPage; 0 means MaxPage.
	Limit int
}

// What a search for a text looks through at most.
const (
	MaxSearched      = 20_000
	MaxSearchedBytes = 32 << 20
)

// FoundEvents are those whose body has a text, newest first.
type FoundEvents struct {
	Records []Record
	// LookedTo is the ID of the last event that was looked at, where there are older ones: a search before it goes on.
	LookedTo string
}

// DeadLetterQuery selects dead letters, the last failed first. Empty fields do not restrict.
type DeadLetterQuery struct {
	Provider string
	// Source is the sender within the provider.
	Source string
	Type   string
	State  DeadLetterState
	Class  Class
	Code   string
	Step   Step
	// Rule is the field of the definition that could not be evaluated.
	Rule string
	// Subscription is the name of the one that deliveries have failed for.
	Subscription string
	// EventID and WorkflowID select all dead letters of one event, or of one workflow.
	EventID, WorkflowID string
	// Since and Until bound the last failure: Since ≤ time < Until.
	Since, Until time.Time
	// Before is the cursor of the last dead letter of the page before; nil for the first page.
	Before *DeadLetterCursor
	// Limit is 1 to MaxPage; 0 means MaxPage.
	Limit int
}

// DeadLetterCursor is a place in the list of dead letters.
type DeadLetterCursor struct {
	LastFailed time.Time `json:"last_failed_at"`
	ID         int64     `json:"id"`
}

// Cursor is the place of the dead letter in the list.
func (d DeadLetter) Cursor() DeadLetterCursor {
	return DeadLetterCursor{LastFailed: d.LastFailed, ID: d.ID}
}

// EntityQuery selects entities, in the order of their names. Empty fields do not restrict.
type EntityQuery struct {
	Provider string
	// Kind needs a provider, and Prefix, the beginning of the ID, both.
	Kind, Prefix string
	// Since selects those that events have changed which were accepted since then.
	Since time.Time
	// After is the last entity of the page before; nil for the first page.
	After *EntityRef
	// Limit is 1 to MaxPage; 0 means MaxPage.
	Limit int
}

// FoundEntities is a page of entities, without their states.
type FoundEntities struct {
	Entities []Entity
	// LookedTo is the last entity that was looked at, where MaxSearched were and there are more: a query after it goes on.
	LookedTo *EntityRef
	// ChangedSince is later than what was asked for where more than MaxSearched changes came since: it is complete from then on.
	ChangedSince time.Time
}

// TimelineQuery selects what events did to one entity, the latest change in fold order first.
type TimelineQuery struct {
	Entity EntityRef
	// AsOf leaves out what occurred later; zero does not restrict.
	AsOf time.Time
	// Before is the last change of the page before; nil for the first page.
	Before *LinkCursor
	// Limit is 1 to MaxPage; 0 means MaxPage.
	Limit int
}

// LinkCursor is a place in the timeline of an entity.
type LinkCursor struct {
	Version    *int64    `json:"version,omitempty"`
	OccurredAt time.Time `json:"occurred_at"`
	EventID    string    `json:"event_id"`
	Position   int       `json:"position"`
}

// Cursor is the place of the change in the timeline of its entity.
func (l Link) Cursor() LinkCursor {
	return LinkCursor{Version: l.Version, OccurredAt: l.OccurredAt, EventID: l.EventID, Position: l.Position}
}

// MaxPage is the most rows that one page of a list holds.
const MaxPage = 500
