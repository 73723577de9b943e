package event

import (
	"fmt"
	"strings"
	"time"
)

// Run names one run of a workflow.
type Run struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
}

// Failure says why an event could not be processed.
type Failure struct {
	Step    Step   `json:"step"`
	Class   Class  `json:"class"`
	Code    string `json:"code"`
	Message string `json:"message"`
	// Attempts is how many counted executions the step had in this run.
	Attempts int `json:"attempts"`
	// At is when the workflow gave up.
	At time.Time `json:"at"`
}

// The codes of a dead letter, of the class failed, whose run an operator has ended. Only an operator or a redelivery runs the
// event again.
const (
	CodeTerminated = "terminated"
	CodeCanceled   = "canceled"
)

// CodeTerminatedByTemporal is the code of a dead letter whose run Temporal has terminated, for instance because its history was
// too large. No operator decided that.
const CodeTerminatedByTemporal = "terminated_by_temporal"

// AwaitsOperator ends the message of a failure that no schedule runs again.
const AwaitsOperator = "; an operator decided this, so no schedule runs the event again: replay or discard it"

// DeadLetter is an event that the policies could not save, with everything that is needed to understand and replay it.
type DeadLetter struct {
	// ID is the row's own number; 0 before it is stored.
	ID      int64           `json:"id"`
	Receipt Receipt         `json:"receipt"`
	Body    []byte          `json:"-"`
	State   DeadLetterState `json:"state"`
	Run     Run             `json:"run"`
	Failure Failure         `json:"failure"`
	// Failures is how often the event has died, over all its runs.
	Failures    int        `json:"failures"`
	FirstFailed time.Time  `json:"first_failed_at"`
	LastFailed  time.Time  `json:"last_failed_at"`
	ResolvedAt  *time.Time `json:"resolved_at,omitempty"`
	// ResolvedRun is the run that processed the event in the end.
	ResolvedRun string `json:"resolved_run_id,omitempty"`
	// AutoAttempts is how often it was run again by itself since somebody last did so, NextRedriveAt when it will be the
	// next time; nil if it will not, or if nobody has planned it yet.
	AutoAttempts  int        `json:"auto_attempts,omitempty"`
	NextRedriveAt *time.Time `json:"next_redrive_at,omitempty"`
	// DiscardedAt, DiscardedBy and DiscardReason are set if an operator has discarded it.
	DiscardedAt   *time.Time `json:"discarded_at,omitempty"`
	DiscardedBy   string     `json:"discarded_by,omitempty"`
	DiscardReason string     `json:"discard_reason,omitempty"`
	// ReplacedBy is the event that an edit has made of this one; the receipt of that one names this one in Replaces.
	ReplacedBy string `json:"replaced_by,omitempty"`
	// SubscriptionID and Subscription say to whom it could not be delivered, where the step is deliver; else 0 and "". The event
	// itself is processed then, and to replay it means to send it again.
	SubscriptionID int64  `json:"subscription_id,omitempty"`
	Subscription   string `json:"subscription,omitempty"`
}

// StateError says that a dead letter is not in a state in which what was asked for can be done.
type StateError struct {
	ID    int64
	State DeadLetterState
	// ReplacedBy is the event that replaces it, if there is one.
	ReplacedBy string
}

// Error names the dead letter and its state.
func (e *StateError) Error() string {
	if e.ReplacedBy != "" {
		return fmt.Sprintf("dead letter %d is replaced by event %s", e.ID, e.ReplacedBy)
	}
	return fmt.Sprintf("dead letter %d is %s", e.ID, e.State)
}

// EndedByOperator reports whether an operator has terminated or canceled the run: no schedule runs the event again.
func (f Failure) EndedByOperator() bool {
	return f.Class == ClassFailed && (f.Code == CodeTerminated || f.Code == CodeCanceled)
}

// EvaluateField begins the text of an error of an expression, and the field of the definition ends it.
const EvaluateField = "evaluate "

// maxRule is how long the name of a field may be, in bytes: an index holds it.
const maxRule = 200

// Rule is the field of the definition that the failure names, as "entities[0].id"; "" if it names none.
func (f Failure) Rule() string {
	if !strings.HasPrefix(f.Code, "jq_") && !strings.HasPrefix(f.Code, "bad_") {
		return ""
	}
	_, field, _ := strings.Cut(f.Message, ": "+EvaluateField)
	if strings.Contains(field, " ") || len(field) > maxRule {
		return ""
	}
	return field
}
