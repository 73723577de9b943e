package operation

import (
	"errors"
	"time"

	"holdfast/event"
)

// ReplayFilter selects the open dead letters of a replay. Empty fields match everything.
type ReplayFilter struct {
	Provider string `json:"provider,omitempty"`
	// Source is the sender within the provider; it needs Provider.
	Source string      `json:"source,omitempty"`
	Type   string      `json:"type,omitempty"`
	Class  event.Class `json:"class,omitempty"`
	Code   string      `json:"code,omitempty"`
	Step   event.Step  `json:"step,omitempty"`
	// Rule is the field of the definition whose evaluation failed.
	Rule string `json:"rule,omitempty"`
	// Subscription selects failed deliveries by subscription.
	Subscription string `json:"subscription,omitempty"`
	// State is open or exhausted; empty selects both.
	State event.DeadLetterState `json:"state,omitempty" jsonschema:"enum=open,enum=exhausted"`
	// Since and Until bound the time of the last failure: Since ≤ last failure < Until.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// IsAll reports whether the filter selects everything.
func (f ReplayFilter) IsAll() bool { return f == ReplayFilter{} }

// ReplayPlan counts the dead letters that currently match a filter.
type ReplayPlan struct {
	Count int64 `json:"count"`
	// Oldest is the earliest first failure; absent if none match.
	Oldest     *time.Time            `json:"oldest,omitempty"`
	ByClass    map[event.Class]int64 `json:"by_class"`
	ByProvider map[string]int64      `json:"by_provider"`
	// CorrectedKeys counts the events that have another key by the current definition, Splits those that are split.
	CorrectedKeys int64 `json:"corrected_keys"`
	Splits        int64 `json:"splits"`
	// SharedKeys counts the events whose corrected key another event has: a replay compares the two.
	SharedKeys int64 `json:"shared_keys"`
	// AtLeast: these three are of the first dead letters only, since there are more than 10,000 or than the request asked for, or
	// their bodies are large.
	AtLeast bool `json:"at_least,omitempty"`
}

// Replay is a bulk replay: it runs the dead letters that matched its filter when it was created again, at its rate and each at
// most once.
type Replay struct {
	Base

	Filter ReplayFilter `json:"filter"`
	// Total counts the dead letters that matched when it was created.
	Total int64 `json:"total"`
	// Done counts runs that processed the event, or split it into others, and Failed those that ended with a dead letter again.
	Done   int64 `json:"done"`
	Failed int64 `json:"failed"`
	// InFlight counts open runs.
	InFlight int64 `json:"in_flight"`
	// Skipped counts dead letters that were handled otherwise in the meantime. The rest of Total is pending.
	Skipped int64 `json:"skipped"`
	// BlockedBy names destinations whose deliveries are blocked: the breaker is open, or they are paused or disabled.
	BlockedBy []string `json:"blocked_by,omitempty"`
}

// Ended returns how many dead letters are finished.
func (r Replay) Ended() int64 { return r.Done + r.Failed + r.Skipped }

// Share returns the progress, from 0 to 1.
func (r Replay) Share() float64 {
	if r.Total <= 0 {
		return 1
	}
	return min(float64(r.Ended())/float64(r.Total), 1)
}

// ReplayPage is the next batch of a replay.
type ReplayPage struct {
	State State
	Rate  float64
	// DeadLetters were claimed: their state is replaying.
	DeadLetters []event.DeadLetter
	// InFlight counts all dead letters of the replay whose run hasn't ended, including DeadLetters.
	InFlight int
	// Drained: there are no more dead letters to claim.
	Drained bool
}

// AutomaticReplay is the policy of automatic replays.
type AutomaticReplay struct {
	// ReplayPolicy applies to providers that aren't in Own.
	ReplayPolicy

	Own map[string]ReplayPolicy
	// Rate is the max number of started runs per second.
	Rate float64
}

// ReplayPolicy decides when the dead letters of a provider are replayed automatically.
type ReplayPolicy struct {
	// Base is the pause between a failure and the first automatic attempt; it doubles with each, ± 20 %.
	Base time.Duration
	// Attempts is the max number of automatic attempts. Then the dead letter is exhausted.
	Attempts int
	// Classes are the failure classes that are retried; empty turns automatic replays off.
	Classes []event.Class
}

// ReplayProgress is the result of one page of a bulk replay.
type ReplayProgress struct {
	Replay Replay `json:"replay"`
	// Drained means that no run is left to start, Settled that all runs have ended.
	Drained bool `json:"drained,omitempty"`
	Settled bool `json:"settled,omitempty"`
}

// DueProgress is the result of one page of the automatic replay.
type DueProgress struct {
	Planned   int64 `json:"planned"`
	Exhausted int64 `json:"exhausted"`
	Started   int   `json:"started"`
	Drained   bool  `json:"drained"`
}

// RunExistsError is returned if no run was started because the latest run of the workflow is open or has succeeded.
type RunExistsError struct {
	Run event.Run
	// Open: the run is open; otherwise it has succeeded.
	Open bool
	// InTheWay: the run is open but doesn't decide about the dead letter. It belongs to another event, or has already recorded this
	// dead letter and is about to end.
	InTheWay bool
}

// RunAfter returns the run that decides about a dead letter after an attempt to start one: the new run, or an open run of the
// same event that a sender or an operator has started. If ok is false, the dead letter stays open.
func RunAfter(started event.Run, err error) (run event.Run, ok bool) {
	var exists *RunExistsError
	switch {
	case err == nil:
		return started, true
	case errors.As(err, &exists) && exists.Open && !exists.InTheWay:
		return exists.Run, true
	default:
		return event.Run{}, false
	}
}

func (e *RunExistsError) Error() string {
	run := "run " + e.Run.RunID + " of the same workflow ID" // which has the sender's key
	switch {
	case e.InTheWay:
		return run + " is in the way: try again when it has ended"
	case e.Open:
		return run + " is open"
	default:
		return run + " has succeeded"
	}
}

// Cause groups unresolved dead letters with the same cause.
type Cause struct {
	Provider string      `json:"provider"`
	Step     event.Step  `json:"step"`
	Class    event.Class `json:"class"`
	Code     string      `json:"code"`
	// Rule is the field of the definition whose evaluation failed; empty if none.
	Rule string `json:"rule,omitempty"`
	// Subscription is set for failed deliveries.
	Subscription string `json:"subscription,omitempty"`
	// Open, Exhausted and Replaying count them by state.
	Open      int64 `json:"open"`
	Exhausted int64 `json:"exhausted"`
	Replaying int64 `json:"replaying"`
	// Oldest is their first failure.
	Oldest time.Time `json:"oldest"`
	// Newest is their last failure.
	Newest time.Time `json:"newest"`
	// Example is the ID of the latest one.
	Example int64 `json:"example"`
}

// Count returns the number of dead letters.
func (c Cause) Count() int64 { return c.Open + c.Exhausted + c.Replaying }

// Waiting returns the number of dead letters that no replay has claimed.
func (c Cause) Waiting() int64 { return c.Open + c.Exhausted }

// Filter selects the dead letters with this cause.
func (c Cause) Filter() ReplayFilter {
	return ReplayFilter{
		Provider: c.Provider, Step: c.Step, Class: c.Class, Code: c.Code, Rule: c.Rule, Subscription: c.Subscription,
	}
}

// Replayed is the result of a replay.
type Replayed struct {
	// DeadLetter is resolved if the run succeeds. An edited event has a new one.
	DeadLetter int64 `json:"dead_letter_id"`
	// EventID is the event that runs; after an edit, the new one.
	EventID string `json:"event_id" jsonschema:"format=uuid"`
	// Run is the started run. It has no ID if the event was edited and its run couldn't be started: the edited event is then an
	// open dead letter, which can be replayed.
	Run event.Run `json:"run"`
}

// Edit replaces a dead-lettered event with a new event.
type Edit struct {
	DeadLetter int64
	// EventID is the ID of the new event, a UUIDv7.
	EventID string
	Body    []byte
}

// Cleanup selects resolved or discarded dead letters to delete.
type Cleanup struct {
	// Before is the time before which a dead letter was resolved or discarded.
	Before time.Time
	// Provider selects one provider; empty selects all.
	Provider string
	// Limit is the max number of deletions in one call, 1 to MaxCleanup; 0 means MaxCleanup.
	Limit int
}

// MaxCleanup is the max number of deletions in one transaction.
const MaxCleanup = 1000
