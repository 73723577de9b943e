package event

import (
	"encoding/json"
	"errors"
	"time"
)

// ErrNotFound is returned if an event, entity or dead letter doesn't exist.
var ErrNotFound = errors.New("not found")

// Record is a stored event.
type Record struct {
	Receipt Receipt `json:"receipt"`
	// CorrectedKey is the key that a corrected definition has given the event, if it isn't the receipt's; otherwise "".
	CorrectedKey string `json:"-"`
	Type         string `json:"type"`
	Status       Status `json:"status"`
	// Outcome is empty until the event has been processed.
	Outcome Outcome `json:"outcome,omitempty"`
	// Run is the last run that persisted or processed the event.
	Run               Run       `json:"run"`
	OccurredAt        time.Time `json:"occurred_at"`
	OccurredAtMissing bool      `json:"occurred_at_missing,omitempty"`
	// PossibleDuplicateOf is the ID of the first event with the same content, if the key is guessed.
	PossibleDuplicateOf string `json:"possible_duplicate_of,omitempty"`
	// Omitted lists the entities that the event names and didn't change; nil if there are none.
	Omitted     *Omitted   `json:"omitted,omitempty"`
	PersistedAt time.Time  `json:"persisted_at"`
	ProcessedAt *time.Time `json:"processed_at,omitempty"`
	// Body is the raw body; nil in lists.
	Body []byte `json:"-"`
	// Payload is the inexact jsonb projection of Body; nil if Body isn't JSON. PayloadNote describes the differences.
	Payload     json.RawMessage `json:"payload,omitempty"`
	PayloadNote string          `json:"payload_note,omitempty"`
	// Links are the changes of the event; nil in lists.
	Links []Link `json:"links,omitempty"`
}

// Link is a stored change: the effect of one event on one entity.
type Link struct {
	EntityRef
	EventID string `json:"event_id" jsonschema:"format=uuid"`
	// EventType is empty if the event has been purged.
	EventType string `json:"event_type,omitempty"`
	// Position is the position of the change in its event, from 1.
	Position int `json:"position"`
	Op       Op  `json:"op"`
	// State is the snapshot, the patch or the last state; absent if it is redacted.
	State      json.RawMessage `json:"state,omitempty" jsonschema:"type=object"`
	Version    *int64          `json:"version,omitempty"`
	OccurredAt time.Time       `json:"occurred_at"`
	// WithoutEffect: the change arrived after its part of the history was collapsed.
	WithoutEffect bool `json:"without_effect,omitempty"`
}

// RecordQuery selects stored events, newest first. Empty fields match everything.
type RecordQuery struct {
	Provider string
	// Source is the sender within the provider.
	Source string
	Type   string
	Status Status
	// Key is the idempotency key, original or canonical.
	Key string
	// PossibleDuplicates selects events with PossibleDuplicateOf.
	PossibleDuplicates bool
	// WithOmitted selects events with Omitted entities.
	WithOmitted bool
	// DeliveryStatus selects events with a delivery in this status, among the newest deliveries: see delivery.Status.
	DeliveryStatus string
	// Entity selects the events that changed it.
	Entity *EntityRef
	// Since and Until bound when the event was accepted, the time in its ID, in whole milliseconds: Since ≤ time < Until.
	Since, Until time.Time
	// Text is contained in the body, literally or JSON-escaped. Only SearchEvents supports it, among the newest selected events.
	Text string
	// Before is the ID of the last event on the previous page; empty for the first page.
	Before string
	// Limit is 1 to MaxPage; 0 means MaxPage.
	Limit int
}

// Limits of a search: events and bytes by text, deliveries by their status.
const (
	MaxSearched           = 20_000
	MaxSearchedBytes      = 32 << 20
	MaxSearchedDeliveries = 5_000
)

// FoundEvents is a page of events whose body contains a text, or that have a delivery in a status, newest first.
type FoundEvents struct {
	Records []Record
	// SearchedTo is the ID of the last searched event if there are older ones: continue the search before it.
	SearchedTo string
}

// DeadLetterQuery selects dead letters, last failed first. Empty fields match everything.
type DeadLetterQuery struct {
	Provider string
	// Source is the sender within the provider.
	Source string
	Type   string
	State  DeadLetterState
	Class  Class
	Code   string
	Step   Step
	// Rule is the field of the definition whose evaluation failed.
	Rule string
	// Subscription selects failed deliveries by subscription.
	Subscription string
	// EventID and WorkflowID select all dead letters of one event or workflow.
	EventID, WorkflowID string
	// Since and Until bound the last failure: Since ≤ time < Until.
	Since, Until time.Time
	// Before is the cursor of the last dead letter on the previous page; nil for the first page.
	Before *DeadLetterCursor
	// Oldest lists the one first whose last failure is the oldest.
	Oldest bool
	// Limit is 1 to MaxPage; 0 means MaxPage.
	Limit int
}

// DeadLetterCursor is a position in the list of dead letters.
type DeadLetterCursor struct {
	LastFailed time.Time `json:"last_failed_at"`
	ID         int64     `json:"id"`
}

// Cursor returns the position of the dead letter.
func (d DeadLetter) Cursor() DeadLetterCursor {
	return DeadLetterCursor{LastFailed: d.LastFailed, ID: d.ID}
}

// EntityQuery selects entities, ordered by name. Empty fields match everything.
type EntityQuery struct {
	Provider string
	// Kind requires Provider; Prefix, a prefix of the ID, requires both.
	Kind, Prefix string
	// Since selects entities changed by events accepted since then.
	Since time.Time
	// After is the last entity on the previous page; nil for the first page.
	After *EntityRef
	// Limit is 1 to MaxPage; 0 means MaxPage.
	Limit int
}

// FoundEntities is a page of entities without their states.
type FoundEntities struct {
	Entities []Entity
	// SearchedTo is the last searched entity, if MaxSearched were searched and there are more: continue after it.
	SearchedTo *EntityRef
	// ChangedSince is later than requested if there were more than MaxSearched changes: the result is complete from then on.
	ChangedSince time.Time
}

// TimelineQuery selects the changes of one entity, the latest in fold order first.
type TimelineQuery struct {
	Entity EntityRef
	// AsOf excludes later changes; zero includes all.
	AsOf time.Time
	// Before is the last change on the previous page; nil for the first page.
	Before *LinkCursor
	// Limit is 1 to MaxPage; 0 means MaxPage.
	Limit int
}

// LinkCursor is a position in the timeline of an entity.
type LinkCursor struct {
	Version    *int64    `json:"version,omitempty"`
	OccurredAt time.Time `json:"occurred_at"`
	EventID    string    `json:"event_id"`
	Position   int       `json:"position"`
}

// Cursor returns the position of the change.
func (l Link) Cursor() LinkCursor {
	return LinkCursor{Version: l.Version, OccurredAt: l.OccurredAt, EventID: l.EventID, Position: l.Position}
}

// MaxPage is the max number of rows on a page.
const MaxPage = 500

// Counts counts the rows of a list by state. A state that wasn't counted is missing.
type Counts map[string]Count

// Count is a number of rows. AtLeast reports that there may be more: only the newest MaxCounted rows were read.
type Count struct {
	N       int64
	AtLeast bool
}

// MaxCounted bounds how many rows of a list are read to count one state, so that a count takes milliseconds however long the list
// is.
const MaxCounted = 2_000

// Accepted is an acknowledged event with an open run and no row yet.
type Accepted struct {
	Receipt  Receipt
	Run      Run
	Body     []byte
	Progress Progress
}

// AcceptedEvents are events of open runs, stored or not, newest first, without their bodies.
type AcceptedEvents struct {
	Records []Record
	// IsCut: there are more open runs than were read.
	IsCut bool
}
