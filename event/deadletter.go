package event

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Run names one run of a workflow.
type Run struct {
	WorkflowID string `json:"workflow_id"`
	// RunID is empty if no run has been started yet.
	RunID string `json:"run_id"`
}

// Failure describes why an event couldn't be processed.
type Failure struct {
	// Step is "start" if Temporal rejected the event, and "run" if its run was ended from outside.
	Step  Step  `json:"step"`
	Class Class `json:"class"`
	// Code is a stable name of the error.
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

// CodeNotPersisted is the code of a step that needs the event's row where there is none.
const CodeNotPersisted = "not_persisted"

// CodeKeyConflict is the code of an event whose certain key belongs to an event with other content.
const CodeKeyConflict = "key_conflict"

// CodeCorrectedConflict is the code of an event whose key another one has, by a definition that was corrected since it was
// accepted. It keeps the key that it was accepted with.
const CodeCorrectedConflict = "corrected_key_conflict"

// CodeTerminatedByTemporal is the code if Temporal terminated the run, for instance because its history was too large.
const CodeTerminatedByTemporal = "terminated_by_temporal"

// AwaitsOperator is appended to the message of a failure that no schedule retries.
const AwaitsOperator = "; an operator decided this, so no schedule runs the event again: replay or discard it"

// MayBeDecided is appended to the message of a failure about which the database may have lost a decision.
const MayBeDecided = "; an operator may have decided about the event before a failover or restore lost it: replay or discard it"

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
	// DuplicateOf is the event that it turned out to repeat when it ran again: nothing was processed a second time.
	DuplicateOf string `json:"duplicate_of,omitempty"`
	// AutoAttempts counts automatic replays since the last manual one. NextReplayAt is when the next one is due; nil if none is
	// planned.
	AutoAttempts int        `json:"auto_attempts,omitempty"`
	NextReplayAt *time.Time `json:"next_replay_at,omitempty"`
	// DiscardedAt, DiscardedBy and DiscardReason are set if an operator discarded it.
	DiscardedAt   *time.Time `json:"discarded_at,omitempty"`
	DiscardedBy   string     `json:"discarded_by,omitempty"`
	DiscardReason string     `json:"discard_reason,omitempty"`
	// ReplacedBy is the edited event that replaces this one, whose receipt names this one in Replaces, or the first of the events
	// that a replay split it into.
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

// ruleCodes are the prefixes of codes whose message may name a field.
var ruleCodes = []string{"jq_", "bad_", "missing_"}

// Rule returns the field of the definition that the failure names, such as "entities[0].id"; "" if none.
func (f Failure) Rule() string {
	if !slices.ContainsFunc(ruleCodes, func(prefix string) bool { return strings.HasPrefix(f.Code, prefix) }) {
		return ""
	}
	_, field, _ := strings.Cut(f.Message, ": "+EvaluateField)
	if strings.Contains(field, " ") || len(field) > maxRule {
		return ""
	}
	return field
}

// Decision is a permanent decision of an operator about an event. It outlives the event's dead letters, its key and Temporal's
// retention: any later run of the event ends with this outcome and changes nothing.
type Decision struct {
	EventID string    `json:"event_id" jsonschema:"format=uuid"`
	Outcome Outcome   `json:"outcome" jsonschema:"enum=discarded,enum=replaced,enum=expunged"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Reason  string    `json:"reason"`
	// ReplacedBy is the event that replaces it, if Outcome is "replaced".
	ReplacedBy string `json:"replaced_by,omitempty" jsonschema:"format=uuid"`
}

// DecisionError is returned if an operator's decision prevents the processing of an event.
type DecisionError struct {
	Decision Decision
	// PassedTo is set if the event's key now belongs to another event: a part of it.
	PassedTo *KeyOwner
}

// KeyOwner is the event that owns a key, with its fingerprint.
type KeyOwner struct {
	ID          string `json:"id"`
	Fingerprint string `json:"fingerprint,omitempty"`
}

func (e *DecisionError) Error() string {
	v := e.Decision
	text := "event " + v.EventID + " was " + string(v.Outcome) + " by " + v.By + " at " + v.At.UTC().Format(time.RFC3339)
	if v.ReplacedBy != "" {
		text += "; its replacement is event " + v.ReplacedBy
	}
	return text
}

// ErrorLogger writes a line of the log: a workflow's logger does, and ContextLogger.
type ErrorLogger interface {
	Error(message string, fields ...any)
}

// ContextLogger is slog's default logger with a context, which has the trace.
type ContextLogger struct{ Context context.Context }

// Error writes a line at the level of errors.
func (l ContextLogger) Error(message string, fields ...any) {
	slog.ErrorContext(l.Context, message, fields...) //nolint:sloglint // the message is LogDeadLetter's
}

// LogDeadLetter logs that an event has become a dead letter, so long after its receipt.
func LogDeadLetter(log ErrorLogger, r Receipt, f Failure, took time.Duration) {
	log.Error("event.dead_lettered",
		"event_id", r.ID, "provider", r.Provider, "event_type", r.Type, "outcome", "dead",
		"step", string(f.Step), "error_class", string(f.Class), "error_code", f.Code, "error", f.Message,
		"attempts", f.Attempts, "request_id", r.RequestID, "correlation_id", r.CorrelationID, "duration_ms", took.Milliseconds())
}

// CodeBodyLost is the code of the dead letter of an acknowledged event whose run was deleted before it was recorded, or of a
// large event whose body PostgreSQL no longer has, since it was set back to before the event.
const CodeBodyLost = "body_lost"

// BodyLostText is the message of such a dead letter.
const BodyLostText = "the event was acknowledged, but its run was deleted from Temporal before it ended, and nothing has its " +
	"body: have the provider send it again, or recover it from the provider's list; the event then resolves this dead letter. " +
	"Or discard it"

// Acknowledged is an event that Temporal has accepted, and its run there.
type Acknowledged struct {
	Receipt Receipt
	RunID   string
}

// ForLoss returns the part of a receipt that is kept until its event is recorded: what tells operators which event it was, and
// lets the same event, sent again, resolve its dead letter.
func (r Receipt) ForLoss() Receipt {
	r.Headers, r.Query, r.Path, r.Root, r.Trace = nil, nil, nil, nil, ""
	r.BodyLost = true
	return r
}
