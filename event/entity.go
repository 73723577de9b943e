package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// EntityRef names an entity: an object of a provider that events refer to.
type EntityRef struct {
	Provider   string `json:"provider"`
	Kind       string `json:"kind"`
	ExternalID string `json:"external_id"`
}

// Op is the effect of a change on an entity.
type Op string

// The operations of a mapping.
const (
	// OpSnapshot replaces the state and revives a deleted entity.
	OpSnapshot Op = "snapshot"
	// OpPatch merges into the state (JSON merge patch, RFC 7396). It creates a missing entity, and leaves a deleted one deleted.
	OpPatch Op = "patch"
	// OpDelete stores the last known state and leaves a tombstone.
	OpDelete Op = "delete"
)

// Change is the effect of one event on one entity.
type Change struct {
	Kind       string `json:"kind"`
	ExternalID string `json:"external_id"`
	Op         Op     `json:"op"`
	// State is a JSON object: the snapshot, the patch or the last known state; nil counts as {}.
	State json.RawMessage `json:"state,omitempty"`
	// Version is the provider's version of the entity, if any.
	Version *int64 `json:"version,omitempty"`
	// Names lists all names of the entity in the event, best first, if its kind has several. ExternalID is the first of them until
	// the store resolves it.
	Names []Name `json:"names,omitempty"`
	// At replaces the time of the event in the order of changes: it is when the request for a fetched state began.
	At time.Time `json:"at,omitzero"`
}

// Name is one name of an entity. Names are unique across entities, and an entity has at most one name of rank 0.
type Name struct {
	// Rank orders the names of a kind: 0 is the best.
	Rank int    `json:"rank"`
	Name string `json:"name"`
}

// Resets reports whether the change hides all earlier ones.
func (c Change) Resets() bool { return c.Op == OpSnapshot || c.Op == OpDelete }

// Mentions reports whether the change is an empty patch. It creates a missing entity, and changes nothing of an existing one, not
// even its latest change.
func (c Change) Mentions() bool {
	if c.Op != OpPatch {
		return false
	}
	inside, opens := bytes.CutPrefix(bytes.TrimSpace(c.State), []byte("{"))
	return len(c.State) == 0 || opens && string(bytes.TrimSpace(inside)) == "}"
}

// Entity is an entity with its folded state.
type Entity struct {
	EntityRef
	State   json.RawMessage `json:"state"`
	Deleted bool            `json:"deleted"`
	// Names lists its other names. Only set when read.
	Names []string `json:"names,omitempty"`
	// Revision increases with each change of the row. Only set when the current state is read.
	Revision int64 `json:"revision,omitempty"`
	// Last is the order of the latest folded change, without mentions; zero if none.
	Last Order `json:"-"`
	// Incomplete: an event was expunged whose contribution to the state can't be separated, because a purge had removed the changes.
	// The state may lack other changes or still include the expunged event, until the next snapshot or delete.
	Incomplete bool `json:"incomplete,omitempty"`
	// CollapsedUntil is the earliest time for which the state is known. Earlier changes aren't stored, because their events are
	// older than the retention or were never imported. Nil if all changes are stored, or if this is the state as of a given time.
	CollapsedUntil *time.Time `json:"collapsed_until,omitempty"`
}

// CollapsedError is returned if the state of an entity at a time is unknown because its changes aren't stored. It is an
// ErrNotFound.
type CollapsedError struct {
	// Before is the earliest time for which the state is known.
	Before time.Time
}

func (e *CollapsedError) Error() string {
	return fmt.Sprintf("its state is known from %s on: earlier changes are not kept",
		e.Before.UTC().Format(time.RFC3339Nano))
}

// Is makes the error an ErrNotFound.
func (e *CollapsedError) Is(target error) bool { return target == ErrNotFound }
