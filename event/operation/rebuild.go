package operation

import (
	"time"

	"holdfast/event"
)

// RebuildFilter selects the events of a rebuild. Empty fields do not restrict.
type RebuildFilter struct {
	Provider string `json:"provider,omitempty"`
	// Kind selects events that change an entity of this kind, by the definition that they were read with or by today's. Such an
	// event is read again as a whole, with what it does to other kinds.
	Kind string `json:"kind,omitempty"`
}

// IsAll says that the filter restricts nothing.
func (f RebuildFilter) IsAll() bool { return f == RebuildFilter{} }

// Rebuild reads the bodies of the processed events that were accepted before it was made once more, with the definitions of the
// moment.
type Rebuild struct {
	Base

	Filter RebuildFilter `json:"filter"`
	// DryRun says that it counts and changes no event and no entity.
	DryRun bool `json:"dry_run"`

	// Read counts the events that were read; the next four count those of them that
	//   - Changed: today's definition reads differently
	//   - Unreadable: it cannot read, or the store cannot take what it reads. They stay as they are
	//   - Skipped: an operator has decided about
	// The others are as they were.
	Read       int64 `json:"read"`
	Changed    int64 `json:"changed"`
	Unreadable int64 `json:"unreadable"`
	Skipped    int64 `json:"skipped"`
	// Entities counts the entities of which an event says something else now, each once.
	Entities int64 `json:"entities"`
	// Problems are the first of those that could not be read, at most MaxProblems.
	Problems []RebuildProblem `json:"problems,omitempty"`

	// From and Until are when the first and the last of its events were accepted, Reached is the same of the last one read; they
	// are zero where there is none.
	From    time.Time `json:"from,omitzero"`
	Reached time.Time `json:"reached,omitzero"`
	Until   time.Time `json:"until,omitzero"`
}

// Share is how far it has come, from 0 to 1, by the time at which events were accepted.
func (r Rebuild) Share() float64 {
	switch {
	case r.State == Completed:
		return 1
	case r.Reached.IsZero() || !r.Until.After(r.From):
		return 0
	}
	return min(float64(r.Reached.Sub(r.From))/float64(r.Until.Sub(r.From)), 1)
}

// MaxProblems is how many events a rebuild names that it could not read.
const MaxProblems = 20

// RebuildProblem is an event that a rebuild could not read, and why. The message holds no payload.
type RebuildProblem struct {
	EventID  string      `json:"event_id"`
	Provider string      `json:"provider"`
	Class    event.Class `json:"class"`
	Code     string      `json:"code"`
	Message  string      `json:"message"`
}

// MaxDiffs is how many entities the diff of a rebuild shows, MaxLinksOfDiff how many changes an entity may have to be shown.
const (
	MaxDiffs       = 10
	MaxLinksOfDiff = 10_000
)
