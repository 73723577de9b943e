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

// Failure describes why an event couldn't be processed.
type Failure struct {
	Step    Step   `json:"step"`
	Class   Class  `json:"class"`
	Code    string `json:"code"`
	Message string `json:"message"`
	// Attempts counts the executions of the step in this run that count against the policy.
	Attempts int `json:"attempts"`
	// At is when the workflow gave up.
	At time.Time `json:"at"`
}

// Codes of class failed, for dead letters whose run an operator ended. Only an operator or a redelivery runs the event again.
const (
	CodeTerminated = "terminated"
	CodeCanceled   = "canceled"
)

// CodeTerminatedByTemporal is the code if Temporal terminated the run, for instance because its history was too large.
const CodeTerminatedByTemporal = "terminated_by_temporal"

// AwaitsOperator is appended to the message of a failure that no schedule retries.
const AwaitsOperator = "; an operator decided this, so no schedule runs the event again: replay or discard it"

// DeadLetter is an event that the retry policies could not save, with everything needed to analyze and replay it.
type DeadLetter struct {
	ID      int64           `json:"id"`
	Receipt Receipt         `json:"receipt"`
	Body    []byte          `json:"-"`
	State   DeadLetterState `json:"state"`
	Run     Run             `json:"run"`
	Failure Failure         `json:"failure"`
	// Failures counts the failures of the event, over all its runs.
	Failures    int        `json:"failures"`
	FirstFailed time.Time  `json:"first_failed_at"`
	LastFailed  time.Time  `json:"last_failed_at"`
	ResolvedAt  *time.Time `json:"resolved_at,omitempty"`
	// ResolvedRun is the run that finally processed the event.
	ResolvedRun string `json:"resolved_run_id,omitempty"`
	// AutoAttempts counts automatic redrives since the last manual one. NextRedriveAt is when the next one is due; nil if none is
	// planned.
	AutoAttempts  int        `json:"auto_attempts,omitempty"`
	NextRedriveAt *time.Time `json:"next_redrive_at,omitempty"`
	// DiscardedAt, DiscardedBy and DiscardReason are set if an operator discarded it.
	DiscardedAt   *time.Time `json:"discarded_at,omitempty"`
	DiscardedBy   string     `json:"discarded_by,omitempty"`
	DiscardReason string     `json:"discard_reason,omitempty"`
	// ReplacedBy is the edited event that replaces this one; its receipt names this one in Replaces.
	ReplacedBy string `json:"replaced_by,omitempty"`
	// SubscriptionID and Subscription are set if the step is deliver. The event itself is processed then, and a replay sends it
	// again.
	SubscriptionID int64  `json:"subscription_id,omitempty"`
	Subscription   string `json:"subscription,omitempty"`
}

// StateError is returned if the state of a dead letter doesn't allow an action.
type StateError struct {
	ID    int64
	State DeadLetterState
	// ReplacedBy is the event that replaces it, if any.
	ReplacedBy string
}

func (e *StateError) Error() string {
	if e.ReplacedBy != "" {
		return fmt.Sprintf("dead letter %d is replaced by event %s", e.ID, e.ReplacedBy)
	}
	return fmt.Sprintf("dead letter %d is %s", e.ID, e.State)
}

// EndedByOperator reports whether an operator terminated or canceled the run: no schedule retries the event.
func (f Failure) EndedByOperator() bool {
	return f.Class == ClassFailed && (f.Code == CodeTerminated || f.Code == CodeCanceled)
}

// EvaluateField is the prefix of an expression error; the name of the field follows.
const EvaluateField = "evaluate "

// maxRule bounds the name of a field in bytes, because it is indexed.
const maxRule = 200

// Rule returns the field of the definition that the failure names, such as "entities[0].id"; "" if none.
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
