package event

import "time"

// Decision is a permanent decision of an operator about an event. It outlives the event's dead letters, its key and Temporal's
// retention: any later run of the event ends with this outcome and changes nothing.
type Decision struct {
	EventID string `json:"event_id"`
	// Outcome is OutcomeDiscarded, OutcomeReplaced or OutcomeExpunged.
	Outcome Outcome   `json:"outcome"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Reason  string    `json:"reason"`
	// ReplacedBy is the event that replaces it, if Outcome is OutcomeReplaced.
	ReplacedBy string `json:"replaced_by,omitempty"`
}

// DecisionError is returned if an operator's decision prevents the processing of an event.
type DecisionError struct{ Decision Decision }

func (e *DecisionError) Error() string {
	v := e.Decision
	text := "event " + v.EventID + " was " + string(v.Outcome) + " by " + v.By + " at " + v.At.UTC().Format(time.RFC3339)
	if v.ReplacedBy != "" {
		text += "; its replacement is event " + v.ReplacedBy
	}
	return text
}
