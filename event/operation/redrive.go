package operation

import (
	"errors"
	"time"

	"holdfast/event"
)

// RedriveFilter selects the open dead letters of a redrive. Empty fields do not restrict.
type RedriveFilter struct {
	Provider string `json:"provider,omitempty"`
	// Source is the sender within the provider.
	Source string      `json:"source,omitempty"`
	Type   string      `json:"type,omitempty"`
	Class  event.Class `json:"class,omitempty"`
	Code   string      `json:"code,omitempty"`
	Step   event.Step  `json:"step,omitempty"`
	// Rule is the field of the definition that could not be evaluated.
	Rule string `json:"rule,omitempty"`
	// Subscription is the name of the one that deliveries have failed for.
	Subscription string `json:"subscription,omitempty"`
	// State is open or exhausted; both wait.
	State event.DeadLetterState `json:"state,omitempty"`
	// Since and Until bound the time of the last failure: Since ≤ last failure < Until. Zero does not bound.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// IsAll says that the filter restricts nothing.
func (f RedriveFilter) IsAll() bool { return f == RedriveFilter{} }

// RedrivePlan says what a redrive of a filter would take on, as it stands now.
type RedrivePlan struct {
	Count int64 `json:"count"`
	// Oldest is the first failure of the dead letter that has waited longest; nil if there is none.
	Oldest     *time.Time            `json:"oldest,omitempty"`
	ByClass    map[event.Class]int64 `json:"by_class"`
	ByProvider map[string]int64      `json:"by_provider"`
}

// Redrive is one bulk redrive: the dead letters that matched its filter when it was made are run again at its rate, each
// at most once.
type Redrive struct {
	Base

	Filter RedriveFilter `json:"filter"`
	// Total is how many dead letters matched when it was made.
	Total int64 `json:"total"`
	// Done and Failed are those whose run has ended: processed, or a dead letter again. InFlight are those whose run has
	// not ended. Skipped are those that it left alone, because something else had dealt with them before it came to them.
	// Until the redrive has ended, what is missing to Total still waits.
	Done     int64 `json:"done"`
	Failed   int64 `json:"failed"`
	InFlight int64 `json:"in_flight"`
	Skipped  int64 `json:"skipped"`
	// BlockedBy names destinations that its deliveries wait for: their breaker is open, or they are paused or disabled.
	BlockedBy []string `json:"blocked_by,omitempty"`
}

// Ended is how many of the redrive's dead letters need nothing more from it.
func (r Redrive) Ended() int64 { return r.Done + r.Failed + r.Skipped }

// Share is how far it has come, from 0 to 1.
func (r Redrive) Share() float64 {
	if r.Total <= 0 {
		return 1
	}
	return min(float64(r.Ended())/float64(r.Total), 1)
}

// RedrivePage is what a redrive takes on next.
type RedrivePage struct {
	State State
	Rate  float64
	// Letters were taken: they are redriving, and belong to the redrive.
	Letters []event.DeadLetter
	// InFlight counts them and all others of the redrive whose run has not ended.
	InFlight int
	// Drained says that nothing was left to take.
	Drained bool
}

// AutomaticRedrive is the policy by which dead letters are run again without anybody asking for it.
type AutomaticRedrive struct {
	// RedrivePolicy holds for providers that have none of their own, which stand in Own by their names.
	RedrivePolicy

	Own map[string]RedrivePolicy
	// Rate is how many runs are started a second, at most.
	Rate float64
}

// RedrivePolicy is when the dead letters of a provider are run again by themselves.
type RedrivePolicy struct {
	// Base is the pause between a failure and the first automatic attempt; it doubles with each, ± 20 %.
	Base time.Duration
	// Attempts is how many there are at most. Then the dead letter is exhausted.
	Attempts int
	// Classes are the classes of failures that are tried again; none turns automatic attempts off.
	Classes []event.Class
}

// RedriveTurn is what one turn of a bulk redrive has come to.
type RedriveTurn struct {
	Redrive Redrive `json:"redrive"`
	// Drained says that nothing is left to start, Settled that each run that was started has ended as well.
	Drained bool `json:"drained,omitempty"`
	Settled bool `json:"settled,omitempty"`
}

// DueTurn is what one turn of the automatic redrive has come to.
type DueTurn struct {
	Planned   int64 `json:"planned"`
	Exhausted int64 `json:"exhausted"`
	Started   int   `json:"started"`
	Drained   bool  `json:"drained"`
}

// RunExistsError says that a run was not started because the latest one of its workflow is open, or has processed the event.
type RunExistsError struct {
	Run event.Run
	// Open says that the run goes on; otherwise it has processed the event.
	Open bool
	// InTheWay says of an open run that it decides nothing about the dead letter, which waits on: it is another event's, or it
	// has recorded that dead letter itself and is not at its end yet.
	InTheWay bool
}

// RunAfter is the run that decides about a dead letter once its start has ended so: the new one, or one of its event that is open
// already, since its sender or an operator was faster. Without one (ok is false) the dead letter waits again.
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

// Error names the run.
func (e *RunExistsError) Error() string {
	run := "run " + e.Run.RunID + " of workflow " + e.Run.WorkflowID
	switch {
	case e.InTheWay:
		return run + " is in the way: try again when it has ended"
	case e.Open:
		return run + " is open"
	default:
		return run + " has succeeded"
	}
}
