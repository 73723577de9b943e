package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// EntityRef names an entity: a thing at a provider that events speak of.
type EntityRef struct {
	Provider   string `json:"provider"`
	Kind       string `json:"kind"`
	ExternalID string `json:"external_id"`
}

// Op is what a change does to the state of an entity.
type Op string

// The operations of a mapping.
const (
	// OpSnapshot replaces the state and revives a deleted entity.
	OpSnapshot Op = "snapshot"
	// OpPatch merges into the state (JSON merge patch, RFC 7396). It creates an entity that was not there, and leaves a
	// deleted one deleted.
	OpPatch Op = "patch"
	// OpDelete replaces the state with the last one known and leaves a tombstone.
	OpDelete Op = "delete"
)

// Change is what one event does to one entity.
type Change struct {
	Kind       string `json:"kind"`
	ExternalID string `json:"external_id"`
	Op         Op     `json:"op"`
	// State is the snapshot, the patch or the last state, a JSON object; nil counts as {}.
	State json.RawMessage `json:"state,omitempty"`
	// Version is the provider's own version of the entity where it has one.
	Version *int64 `json:"version,omitempty"`
	// Names are all names that the event has for the entity, best first, where its kind has several. ExternalID is the first of
	// them, until the store knows what they stand for.
	Names []Name `json:"names,omitempty"`
}

// Name is one of the names of an entity. Two entities never share a name, and an entity has one name of rank 0 at most.
type Name struct {
	// Rank is the place of the name among those of its kind: 0 is the best.
	Rank int    `json:"rank"`
	Name string `json:"name"`
}

// Resets says whether nothing that came before the change shows after it.
func (c Change) Resets() bool { return c.Op == OpSnapshot || c.Op == OpDelete }

// Mentions says whether the change only names its entity: a patch of nothing. It makes an entity that is not there, and changes
// nothing of one that is, not even which change was its latest.
func (c Change) Mentions() bool {
	if c.Op != OpPatch {
		return false
	}
	inside, opens := bytes.CutPrefix(bytes.TrimSpace(c.State), []byte("{"))
	return len(c.State) == 0 || opens && string(bytes.TrimSpace(inside)) == "}"
}

// Entity is the folded state of one entity.
type Entity struct {
	EntityRef
	State   json.RawMessage `json:"state"`
	Deleted bool            `json:"deleted"`
	// Names are its other names, if it has any. Only a reader sets them.
	Names []string `json:"names,omitempty"`
	// Revision rises with each change of the row. Only a reader of what it is now sets it.
	Revision int64 `json:"revision,omitempty"`
	// Last is the order of the latest change that was folded in, mentions aside; zero if there was none.
	Last Order `json:"-"`
	// Incomplete: an event was expunged whose part of the state can't be told from that of others, since a purge had removed their
	// changes. The state lacks what the others did, or still has what the expunged event did. A later snapshot or delete ends it.
	Incomplete bool `json:"incomplete,omitempty"`
	// CollapsedUntil is the first moment of which the state is known: earlier changes are not kept, since their events are older
	// than their retention, or were never imported. Nil: all are kept, or this is a state as of a moment.
	CollapsedUntil *time.Time `json:"collapsed_until,omitempty"`
}

// CollapsedError says that the state of an entity at a moment is not known: changes that had an effect then are not kept. It is
// an ErrNotFound.
type CollapsedError struct {
	// Before is the first moment of which the state is known.
	Before time.Time
}

func (e *CollapsedError) Error() string {
	return fmt.Sprintf("its state is known from %s on: earlier changes are not kept",
		e.Before.UTC().Format(time.RFC3339Nano))
}

// Is makes it an ErrNotFound.
func (e *CollapsedError) Is(target error) bool { return target == ErrNotFound }
