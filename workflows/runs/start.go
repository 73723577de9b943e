package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"holdfast/event"
	"holdfast/workflows"
)

// State is the state of an event in the response to its sender.
type State string

// The states of an event. All except StateAccepted come from an earlier run.
const (
	StateAccepted   State = "accepted"
	StateProcessing State = "processing"
	StateProcessed  State = "processed"
	StateDead       State = "dead"
)

// Started identifies the run of an event.
type Started struct {
	WorkflowID string
	// RunID is empty for an event in the inbox.
	RunID string
	// EventID is the ID of the event that owns the key; empty if that one is in the inbox.
	EventID string
	State   State
	// Outcome is the outcome of the run, if State is StateProcessed and it could be read.
	Outcome event.Outcome
	// ProcessedAt is when that run completed, and CorrelationID that of its request, if Outcome is set.
	ProcessedAt   time.Time
	CorrelationID string
	// DeadLetterID is the dead letter of the event: the open one if State is StateDead, or the one that this run replaces; 0 if the
	// failed run doesn't name it.
	DeadLetterID int64
	// Fingerprint is the fingerprint of the event that owns the key, if known.
	Fingerprint string
	// Conflict is set if the owner of the key has other content. The event wasn't started; the caller may start it under
	// another key.
	Conflict *event.Conflict
	// Rewritten means that the event is a duplicate whose body has other bytes, and is the same JSON value.
	Rewritten bool
}

// Starter starts workflows of events. A nil error means that Temporal has committed this run or an earlier one, named in the
// result.
type Starter struct {
	*Reader

	// Eager lets a worker that shares the client run the first task immediately. It bypasses worker versioning, so it must be off
	// for versioned workers.
	Eager bool
	// SameValue reports whether the bodies of two events are one JSON value, written in different ways; nil compares bytes alone.
	SameValue func(ctx context.Context, provider, eventType string, a, b []byte) bool
}

// NewStarter returns a starter. It needs the data converter of the client.
func NewStarter(c client.Client, with converter.DataConverter) *Starter {
	return &Starter{Reader: NewReader(c, with)}
}

// maxStarts bounds the retries of a start: the earlier run may close, or be deleted, in between.
const maxStarts = 3

// Start starts the workflow of an event, or finds an earlier run.
//   - A redelivery of a failed event runs it again under its first ID, unless reject is set.
//   - An event that is at least a dedupe window away from the earlier one is a new event.
//   - An event with the same key but other content isn't started, and Conflict is set; it never runs in place of a failed event.
//   - An event with the same certain key and the same content in other bytes is a redelivery, and Rewritten is set. If the first
//     one has failed, it runs again with its own bytes.
//   - An event that a run has split from another one starts after that run, if both have the same key. Until it does, its
//     redeliveries are compared with it.
//   - If the event's own run has failed, this isn't a redelivery: the caller didn't know about the run.
//
// The error is an *IDTakenError if the workflow isn't an event's.
func (s *Starter) Start(ctx context.Context, r event.Receipt, body []byte, rejectRedelivery bool) (Started, error) {
	own := r.ID
	var dead Started // the run in whose place this one is started
	reuse := enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	for range maxStarts {
		runID, err := s.execute(ctx, r, body, reuse)
		if err == nil {
			return Started{
				WorkflowID: r.WorkflowID(), RunID: runID, EventID: r.ID, State: StateAccepted, Fingerprint: r.Fingerprint,
				DeadLetterID: s.withOutcome(ctx, dead).DeadLetterID, Rewritten: dead.Rewritten,
			}, nil
		}
		var started *serviceerror.WorkflowExecutionAlreadyStarted
		if !errors.As(err, &started) {
			return Started{}, fmt.Errorf("start workflow %s: %w", r.WorkflowID(), err)
		}
		earlier, err := s.describe(ctx, r.WorkflowID(), started.RunId)
		if isNotFound(err) {
			continue // the run was deleted meanwhile
		}
		if err != nil {
			return Started{}, err
		}
		if earlier.workflowType != workflows.TypeProcessEvent {
			return Started{}, &IDTakenError{WorkflowID: r.WorkflowID(), RunID: started.RunId, Type: earlier.workflowType}
		}
		if r.SplitFrom != "" && earlier.EventID == r.SplitFrom { // the whole event has the same key, and has passed it on
			if earlier.State == StateProcessing {
				return Started{}, fmt.Errorf("start workflow %s: %w", r.WorkflowID(), ErrKeyBusy)
			}
			reuse = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
			continue
		}
		isNew := r.OutsideWindowOf(earlier.receivedAt)
		if earlier.Conflict = r.ConflictWith(earlier.EventID, earlier.Fingerprint); earlier.Conflict != nil && !isNew {
			body = s.compare(ctx, &r, body, &earlier)
		}
		switch {
		case earlier.EventID == own:
			return s.withOutcome(ctx, earlier.Started), nil
		case isNew && earlier.State == StateProcessing:
			return Started{}, fmt.Errorf("start workflow %s: %w", r.WorkflowID(), ErrKeyBusy)
		case isNew:
			r.ID, dead = own, Started{}
			reuse = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
		case earlier.State == StateDead && !rejectRedelivery && earlier.Conflict == nil:
			reuse = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
			r.ID, dead = cmp.Or(earlier.EventID, r.ID), earlier.Started
		default:
			found := s.withOutcome(ctx, earlier.Started)
			if found.EventID != own {
				return found, nil
			}
			reuse = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE // another event's run found that this one has the key
		}
	}
	return Started{}, fmt.Errorf("start workflow %s: %w", r.WorkflowID(), ErrStartContended)
}

// compare looks more closely at an event whose content isn't that of the earlier run's event. It corrects the earlier run and its
// conflict, and returns the body to start with.
func (s *Starter) compare(ctx context.Context, r *event.Receipt, body []byte, earlier *earlierRun) []byte {
	if s.findHeir(ctx, earlier) {
		earlier.Conflict = r.ConflictWith(earlier.EventID, earlier.Fingerprint)
		return body
	}
	if !r.IsConflict(earlier.Conflict) {
		return body
	}
	first, same := s.rewritten(ctx, *r, body, earlier.Started)
	if !same {
		return body
	}
	earlier.Conflict, earlier.Rewritten, r.Fingerprint = nil, true, earlier.Fingerprint
	return first
}

// findHeir sets the event that has the key, if the run has split its own event and passed the key to a part, which waits for its
// run or had one before.
func (s *Starter) findHeir(ctx context.Context, e *earlierRun) bool {
	if e.State != StateProcessed {
		return false
	}
	result, err := s.result(ctx, event.Run{WorkflowID: e.WorkflowID, RunID: e.RunID})
	if err != nil || result.PassedTo == nil {
		return false
	}
	e.EventID, e.Fingerprint, e.State = result.PassedTo.ID, result.PassedTo.Fingerprint, StateProcessing
	return true
}

// rewritten returns the body of the event that owns the key if that is the same JSON value in other bytes. A body that can't be
// read at once, or that only PostgreSQL has, counts as another one: the step that stores the event compares it again.
func (s *Starter) rewritten(ctx context.Context, r event.Receipt, body []byte, owner Started) (first []byte, same bool) {
	if s.SameValue == nil || r.Large != nil {
		return nil, false
	}
	limited, cancel := WithTimeout(ctx, outcomeTimeout)
	defer cancel()
	receipt, first, err := s.Input(limited, event.Run{WorkflowID: owner.WorkflowID, RunID: owner.RunID})
	if err != nil || receipt.Large != nil || len(first) == 0 {
		return nil, false
	}
	return first, s.SameValue(ctx, r.Provider, r.Type, first, body)
}

func (s *Starter) execute(
	ctx context.Context, r event.Receipt, body []byte, reuse enumspb.WorkflowIdReusePolicy,
) (runID string, err error) {
	if r.Large != nil {
		body = nil
	}
	if len(body)+len(r.Root) > maxMessage {
		return "", ErrTooLarge
	}
	options := startOptions(r, reuse)
	options.EnableEagerStart = s.Eager
	run, err := s.client.ExecuteWorkflow(ctx, options, workflows.TypeProcessEvent, r, rawPayload(body))
	if err != nil {
		return "", err
	}
	return run.GetRunID(), nil
}

// maxMessage is Temporal's gRPC limit, minus metadata. Temporal rejects larger messages as if it were overloaded, but payloads
// over 2 MiB with a reason.
const maxMessage = 4<<20 - 64<<10

// startOptions deliberately sets no timeouts and no retry policy: with either, the server could close the run without its
// compensation.
func startOptions(r event.Receipt, reuse enumspb.WorkflowIdReusePolicy) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                                       r.WorkflowID(),
		TaskQueue:                                queueOf(r),
		WorkflowIDReusePolicy:                    reuse,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		Memo:                                     memoOf(r),
		StaticSummary:                            summary(r),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			workflows.SearchProvider.ValueSet(r.Provider),
			workflows.SearchEventType.ValueSet(r.Type),
		),
	}
}

// queueOf returns the task queue of an event. Large events have one of their own, which workers of earlier releases don't poll:
// they would process the event without its body.
func queueOf(r event.Receipt) string {
	if r.Large != nil {
		return workflows.QueueLarge
	}
	return workflows.Queue(r.Priority)
}

// memoOf returns what later starts of the same key, and lists of open runs, need.
func memoOf(r event.Receipt) map[string]any {
	memo := map[string]any{workflows.MemoEventID: r.ID}
	if r.Fingerprint != "" {
		memo[workflows.MemoFingerprint] = r.Fingerprint
	}
	if r.Source != "" {
		memo[workflows.MemoSource] = r.Source
	}
	return memo
}

// earlierRun is the run that already has the workflow ID.
type earlierRun struct {
	Started

	workflowType string
	// receivedAt is when its event was received, which may be before the run started.
	receivedAt time.Time
}

func (s *Starter) describe(ctx context.Context, workflowID, runID string) (earlierRun, error) {
	response, err := s.client.DescribeWorkflowExecution(ctx, workflowID, runID)
	if err != nil {
		return earlierRun{}, fmt.Errorf("describe workflow %s: %w", workflowID, err)
	}
	info := response.GetWorkflowExecutionInfo()
	earlier := earlierRun{
		Started: Started{
			WorkflowID:  workflowID,
			RunID:       runID,
			EventID:     memoEventID(info, s.converter),
			State:       stateOf(info.GetStatus()),
			ProcessedAt: info.GetCloseTime().AsTime(),
			Fingerprint: memoOfRun(info, s.converter, workflows.MemoFingerprint),
		},
		workflowType: info.GetType().GetName(),
		receivedAt:   info.GetStartTime().AsTime(),
	}
	if id, err := uuid.Parse(earlier.EventID); err == nil && id.Version() == 7 {
		earlier.receivedAt = time.Unix(id.Time().UnixTime())
	}
	return earlier, nil
}

// withOutcome adds the result or the dead letter of an earlier run. It is informational: errors are ignored.
func (s *Starter) withOutcome(ctx context.Context, e Started) Started {
	if e.State != StateProcessed && e.State != StateDead {
		return e
	}
	result, err := s.result(ctx, event.Run{WorkflowID: e.WorkflowID, RunID: e.RunID})
	if err != nil {
		e.DeadLetterID = workflows.DeadLetterID(err)
		return e
	}
	e.Outcome, e.CorrelationID = result.Outcome, result.CorrelationID
	if result.Owner != "" {
		e.EventID = result.Owner
	}
	return e
}

func (s *Starter) result(ctx context.Context, run event.Run) (result workflows.ProcessResult, err error) {
	ctx, cancel := WithTimeout(ctx, outcomeTimeout)
	defer cancel()
	if err := s.client.GetWorkflow(ctx, run.WorkflowID, run.RunID).Get(ctx, &result); err != nil {
		return result, fmt.Errorf("read result of workflow %s: %w", run.WorkflowID, err)
	}
	return result, nil
}

const outcomeTimeout = 500 * time.Millisecond

// memoEventID returns the ID of the event that a run processes. Workflows started by a subscription have the same memo field, but
// don't process that event.
func memoEventID(info *workflowpb.WorkflowExecutionInfo, from converter.DataConverter) string {
	if info.GetType().GetName() != workflows.TypeProcessEvent {
		return ""
	}
	return memoOfRun(info, from, workflows.MemoEventID)
}

func memoOfRun(info *workflowpb.WorkflowExecutionInfo, from converter.DataConverter, name string) (text string) {
	field := info.GetMemo().GetFields()[name]
	if field == nil || from.FromPayload(field, &text) != nil {
		return ""
	}
	return text
}

func stateOf(status enumspb.WorkflowExecutionStatus) State {
	switch status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return StateProcessed
	case enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED,
		enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return StateDead
	default:
		return StateProcessing
	}
}

// rawPayload stores a body in the history unchanged. JSON is marked as such, so that Temporal Web shows it readably.
func rawPayload(body []byte) converter.RawValue {
	encoding := converter.MetadataEncodingBinary
	if utf8.Valid(body) && json.Valid(body) {
		encoding = converter.MetadataEncodingJSON
	}
	return converter.NewRawValue(&commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encoding)},
		Data:     body,
	})
}
