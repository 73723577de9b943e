package event

import "slices"

// Omitted describes the entities that an event names and doesn't change, because a limit was exceeded. The event itself is
// processed.
type Omitted struct {
	// Count counts them, Entities has the first MaxOmitted of them.
	Count    int             `json:"count"`
	Entities []OmittedEntity `json:"entities"`
}

// MaxOmitted is how many omitted entities of an event are listed.
const MaxOmitted = 10

// OmittedEntity is an entity that an event doesn't change.
type OmittedEntity struct {
	Kind       string     `json:"kind"`
	ExternalID string     `json:"external_id"`
	Reason     OmitReason `json:"reason"`
}

// OmitReason is the limit that was exceeded.
type OmitReason string

// The limits of one entity. Beyond those on the number of entities, and of names of all of them, the event becomes a dead letter,
// since a corrected definition can split it.
const (
	// StateTooLarge: the states of the event's entities exceed 4 MiB with this one, or its numbers gain more than 1 MiB when
	// PostgreSQL writes them out.
	StateTooLarge OmitReason = "state_too_large"
	// TooManyNames: the event has more than 50 names of the entity.
	TooManyNames OmitReason = "too_many_names"
	// EntityTooLarge: the entity would exceed 8 MiB with the change.
	EntityTooLarge OmitReason = "entity_too_large"
)

// OmittedAdvice is the next step for events with omitted entities.
const OmittedAdvice = "select less in the definition's rule for the entity, then rebuild (`holdfast entity rebuild`)"

// Advice returns OmittedAdvice, for templates.
func (*Omitted) Advice() string { return OmittedAdvice }

// Add returns a copy of o with one more entity; o may be nil.
func (o *Omitted) Add(e OmittedEntity) *Omitted {
	more := Omitted{Count: 1}
	if o != nil {
		more = Omitted{Count: o.Count + 1, Entities: slices.Clip(o.Entities)}
	}
	if len(more.Entities) < MaxOmitted {
		more.Entities = append(more.Entities, e)
	}
	return &more
}
