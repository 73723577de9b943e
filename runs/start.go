package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"holdfast/event"
	"holdfast/workflows"
)

// State is where an event stands when its sender is answered.
type State string

// The states of an answer. All but StateAccepted are those of an earlier run that has the event.
const (
	StateAccepted   State = "accepted"
	StateProcessing State = "processing"
	StateProcessed  State = "processed"
	StateDead       State = "dead"
)

// Started says which run has an event now.
type Started struct {
	WorkflowID string
	// RunID is empty for an event that waits to be started.
	RunID string
	// EventID is that of the event that has the key; empty where that one waits to be started.
	EventID string
	State   State
	// Outcome is that of the run, if State is StateProcessed; "" if it could not be read.
	Outcome event.Outcome
	// ProcessedAt is when that run completed, and CorrelationID that of the request which brought its event, if Outcome is set.
	ProcessedAt   time.Time
	CorrelationID string
	// DeadLetterID is the number of the dead letter that the event is or, if this run is started in place of a failed one, was until
	// now; 0 if the failed run doesn't name it.
	DeadLetterID int64
	// Fingerprint is that of the event that has the key; "" if it is not on record.
	Fingerprint string
	// Conflict is set if the event is no duplicate of the one that has its key, and was dropped all the same.
	Conflict *event.Conflict
}

// Starter starts the one workflow of an event. A nil error means that Temporal has committed: this run, or an earlier one
// that is named in the result.
type Starter struct {
	// Eager hands the first task of an event to a worker that was made from the same client, with the start. It passes over
	// Temporal's choice of a build, so it is not for workers that have versions.
	Eager bool

	client    client.Client
	converter converter.DataConverter
}

// NewStarter makes a starter, with the converter that the client was made with.
func NewStarter(c client.Client, with converter.DataConverter) *Starter {
	return &Starter{client: c, converter: with}
}

// maxStarts bounds how often a start follows the run it collided with: that run can close, or be deleted, in between.
const maxStarts = 3

// Start runs the event, or finds the run that has it already. A redelivery of a failed event runs it again under the event's
// first ID, unless reject is set; one that comes a dedupe window later, or earlier, is an event of its own. One with the same key
// that is another event all the same is dropped as a conflict, and never run in place of the one that has failed. An event whose
// own run has failed is no redelivery: that it had been started was not known. The error is an *IDTakenError if the workflow with
// the event's ID is not the run of an event.
func (s *Starter) Start(ctx context.Context, r event.Receipt, body []byte, reject bool) (Started, error) {
	own := r.ID
	var dead Started // the run in whose place this one is started
	reuse := enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	for range maxStarts {
		runID, err := s.execute(ctx, r, body, reuse)
		if err == nil {
			return Started{
				WorkflowID: r.WorkflowID(), RunID: runID, EventID: r.ID, State: StateAccepted, Fingerprint: r.Fingerprint,
				DeadLetterID: s.withOutcome(ctx, dead).DeadLetterID,
			}, nil
		}
		var started *serviceerror.WorkflowExecutionAlreadyStarted
		if !errors.As(err, &started) {
			return Started{}, fmt.Errorf("start workflow %s: %w", r.WorkflowID(), err)
		}
		earlier, err := s.describe(ctx, r.WorkflowID(), started.RunId)
		if isNotFound(err) {
			continue // its retention has ended meanwhile
		}
		if err != nil {
			return Started{}, err
		}
		if earlier.workflowType != workflows.TypeProcessEvent {
			return Started{}, &IDTakenError{WorkflowID: r.WorkflowID(), RunID: started.RunId, Type: earlier.workflowType}
		}
		earlier.Conflict = r.ConflictWith(earlier.EventID, earlier.Fingerprint)
		switch {
		case earlier.EventID == own:
			return s.withOutcome(ctx, earlier.Started), nil
		case r.ApartFrom(earlier.receivedAt) && earlier.State == StateProcessing:
			return Started{}, fmt.Errorf("start workflow %s: %w", r.WorkflowID(), ErrKeyBusy)
		case r.ApartFrom(earlier.receivedAt):
			r.ID, dead = own, Started{}
			reuse = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
		case earlier.State == StateDead && !reject && earlier.Conflict == nil:
			reuse = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
			r.ID, dead = cmp.Or(earlier.EventID, r.ID), earlier.Started
		default:
			return s.withOutcome(ctx, earlier.Started), nil
		}
	}
	return Started{}, fmt.Errorf("start workflow %s: %w", r.WorkflowID(), ErrStartContended)
}

func (s *Starter) execute(
	ctx context.Context, r event.Receipt, body []byte, reuse enumspb.WorkflowIdReusePolicy,
) (runID string, err error) {
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

// maxMessage is what Temporal takes of gRPC in one message, less what goes with an event. What is larger it refuses as it does
// an overload; what is larger than a payload may be (2 MiB), with a reason.
const maxMessage = 4<<20 - 64<<10

// startOptions has no time-outs and no retry policy on purpose: on either, the server would close the run without its
// compensation.
func startOptions(r event.Receipt, reuse enumspb.WorkflowIdReusePolicy) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                                       r.WorkflowID(),
		TaskQueue:                                workflows.Queue(r.Priority),
		WorkflowIDReusePolicy:                    reuse,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		Memo:                                     memoOf(r),
		StaticSummary:                            summary(r),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			searchProvider.ValueSet(r.Provider),
			searchEventType.ValueSet(r.Type),
		),
	}
}

// memoOf is what a later start of the same key, and a list of open runs, have to know of the event.
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

var (
	searchProvider  = temporal.NewSearchAttributeKeyKeyword(workflows.SearchProvider)
	searchEventType = temporal.NewSearchAttributeKeyKeyword(workflows.SearchEventType)
)

// earlierRun is the run that a start collided with.
type earlierRun struct {
	Started

	workflowType string
	// receivedAt is when its event came, which may have waited before it was started.
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

// withOutcome adds the result of an earlier run, or the dead letter of one that has failed. It is a courtesy to the sender, so
// that nothing hangs on it.
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

// result is that of a run that has completed.
func (s *Starter) result(ctx context.Context, run event.Run) (result workflows.ProcessResult, err error) {
	ctx, cancel := WithTimeout(ctx, outcomeTimeout)
	defer cancel()
	if err := s.client.GetWorkflow(ctx, run.WorkflowID, run.RunID).Get(ctx, &result); err != nil {
		return result, fmt.Errorf("read result of workflow %s: %w", run.WorkflowID, err)
	}
	return result, nil
}

// outcomeTimeout bounds the look at an earlier result.
const outcomeTimeout = 500 * time.Millisecond

// memoEventID returns the ID of the event that a run processes. A workflow that a subscription has started has the same memo
// field, but isn't the run of that event.
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
