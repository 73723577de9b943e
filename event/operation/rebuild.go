package operation

import (
	"time"

	"holdfast/event"
)

// RebuildFilter selects the events of a rebuild. Empty fields match everything.
type RebuildFilter struct {
	Provider string `json:"provider,omitempty"`
	// Kind selects events that change an entity of this kind, according to the stored changes or the current definition. The whole
	// event is parsed again, including its changes of other kinds.
	Kind string `json:"kind,omitempty"`
}

// IsAll reports whether the filter selects everything.
func (f RebuildFilter) IsAll() bool { return f == RebuildFilter{} }

// Rebuild parses stored events again with the current definitions: those that were processed and accepted before it started.
type Rebuild struct {
	Base

	Filter RebuildFilter `json:"filter"`
	// DryRun: it counts without changing anything.
	DryRun bool `json:"dry_run"`
	// Fetch: it asks the provider's API again for the state behind each event.
	Fetch bool `json:"fetch,omitempty"`

	// Read counts the parsed events.
	Read int64 `json:"read"`
	// Changed counts those that yield other changes than before.
	Changed int64 `json:"changed"`
	// Unreadable counts those that can't be parsed, or whose result the database rejects. They stay unchanged.
	Unreadable int64 `json:"unreadable"`
	// Splits counts those of which the current definition makes several. They stay one event each, unchanged.
	Splits int64 `json:"splits"`
	// Skipped counts those with a decision by an operator.
	Skipped int64 `json:"skipped"`
	// Entities counts the changed entities, each once.
	Entities int64 `json:"entities"`
	// CorrectedKeys counts the events that have another key by the current definition. A rebuild claims it for them if it is free.
	CorrectedKeys int64 `json:"corrected_keys"`
	// SharedKeys counts the events among them whose key another event has. Both events stay processed.
	SharedKeys int64 `json:"shared_keys"`
	// KeyConflicts lists the first of these, up to 20.
	KeyConflicts []SharedKey `json:"key_conflicts,omitempty" jsonschema:"maxItems=20"`
	// Problems lists the first events that are unreadable, or that the definition splits, up to 20.
	Problems []RebuildProblem `json:"problems,omitempty" jsonschema:"maxItems=20"`

	// From and Until are when its first and last event was accepted.
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Reached is when the last parsed event was accepted.
	Reached time.Time `json:"reached,omitzero"`
}

// CanFetch reports whether it selects what a rebuild can fetch: all events of one provider, not as a dry run.
func (r Rebuild) CanFetch() bool {
	return r.Filter.Provider != "" && r.Filter.Kind == "" && !r.DryRun
}

// Share returns the progress from 0 to 1, by the time at which events were accepted.
func (r Rebuild) Share() float64 {
	switch {
	case r.State == Completed:
		return 1
	case r.Reached.IsZero() || !r.Until.After(r.From):
		return 0
	}
	return min(float64(r.Reached.Sub(r.From))/float64(r.Until.Sub(r.From)), 1)
}

// SharedKey is a processed event whose key, by the current definition, another event has: Owner.
type SharedKey struct {
	EventID  string `json:"event_id" jsonschema:"format=uuid"`
	Provider string `json:"provider"`
	Key      string `json:"key"`
	Owner    string `json:"owner" jsonschema:"format=uuid"`
}

// MaxProblems bounds Rebuild.Problems, Rebuild.KeyConflicts and Import.Problems.
const MaxProblems = 20

// CodeSplits is the code of a processed event of which the current definition makes several.
const CodeSplits = "splits"

// RebuildProblem is an event that couldn't be parsed, or that the definition splits. The message contains no payload.
type RebuildProblem struct {
	EventID  string      `json:"event_id"`
	Provider string      `json:"provider"`
	Class    event.Class `json:"class"`
	Code     string      `json:"code"`
	Message  string      `json:"message"`
}

// MaxDiffs bounds the entities in the diff of a rebuild, MaxLinksOfDiff the changes of an entity in it.
const (
	MaxDiffs       = 10
	MaxLinksOfDiff = 10_000
)
