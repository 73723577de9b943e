package event

import "time"

// Verdict is what an operator has decided about an event for good. It outlives the event's dead letters, its key and Temporal's
// memory: whatever tries the event again ends with the verdict's outcome and changes nothing.
type Verdict struct {
	EventID string `json:"event_id"`
	// Outcome is OutcomeDiscarded, OutcomeReplaced or OutcomeExpunged.
	Outcome Outcome   `json:"outcome"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Reason  string    `json:"reason"`
	// ReplacedBy is the event that counts instead, if Outcome is OutcomeReplaced.
	ReplacedBy string `json:"replaced_by,omitempty"`
}

// VerdictError says that nothing was done to an event because of the verdict on it.
type VerdictError struct{ Verdict Verdict }

// Error says who has decided, and when.
func (e *VerdictError) Error() string {
	v := e.Verdict
	text := "event " + v.EventID + " was " + string(v.Outcome) + " by " + v.By + " at " + v.At.UTC().Format(time.RFC3339)
	if v.ReplacedBy != "" {
		text += ", and event " + v.ReplacedBy + " counts instead"
	}
	return text
}
