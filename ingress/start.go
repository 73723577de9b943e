package ingress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

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

// The states of an answer. All but StateAccepted and StateSpooled are duplicates.
const (
	StateAccepted State = "accepted"
	// StateSpooled: it is accepted, and waits in the inbox until Temporal takes it.
	StateSpooled    State = "spooled"
	StateProcessing State = "processing"
	StateProcessed  State = "processed"
	StateDead       State = "dead"
)

// isNew says that the event is the first of its key.
func (s State) isNew() bool { return s == StateAccepted || s == StateSpooled }

// Started says which run has an event now.
type Started struct {
	WorkflowID string
	// RunID is empty for an event that waits in the inbox.
	RunID string
	// EventID is that of the event that has the key; empty for a duplicate of one that waits in the inbox.
	EventID string
	State   State
	// Outcome is that of the run, if State is StateProcessed; "" if it could not be read.
	Outcome event.Outcome
}

// Starter starts the one workflow of an event. A nil error means that Temporal has committed: this run, or an earlier one
// that is named in the result.
type Starter struct {
	client    client.Client
	converter converter.DataConverter
}

// NewStarter makes a starter, with the converter that the client was made with. Workers made from the same client get their
// first task with the start (eager start).
func NewStarter(c client.Client, with converter.DataConverter) *Starter {
	return &Starter{client: c, converter: with}
}

// maxStarts bounds how often a start follows the run it collided with: that run can close, or be deleted, in between.
const maxStarts = 3

// ErrStartContended is returned if other starts of the same key came first every time.
var ErrStartContended = errors.New("runs of this key keep changing")

// Start runs the event, or finds the run that has it already. A redelivery of a failed event runs it again under the event's
// first ID, unless reject is set; one that comes after the dedupe window is a new event. An event whose own run has failed is
// no redelivery: that it had been started was not known.
func (s *Starter) Start(ctx context.Context, r event.Receipt, body []byte, reject bool) (Started, error) {
	own := r.ID
	reuse := enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	for range maxStarts {
		runID, err := s.execute(ctx, r, body, reuse)
		if err == nil {
			return Started{WorkflowID: r.WorkflowID(), RunID: runID, EventID: r.ID, State: StateAccepted}, nil
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
		switch {
		case earlier.State == StateDead && !reject && earlier.EventID != own:
			reuse = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
			r.ID = cmp.Or(earlier.EventID, r.ID)
		case earlier.State == StateProcessed && earlier.expired(r):
			reuse = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
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
		return "", errTooLarge
	}
	run, err := s.client.ExecuteWorkflow(ctx, startOptions(r, reuse), workflows.TypeProcessEvent, r, rawPayload(body))
	if err != nil {
		return "", err
	}
	return run.GetRunID(), nil
}

// maxMessage is what Temporal takes of gRPC in one message, less what goes with an event. What is larger it refuses as it does
// an overload; what is larger than a payload may be (2 MiB), with a reason.
const maxMessage = 4<<20 - 64<<10

var errTooLarge = serviceerror.NewInvalidArgument("the event is larger than a message to Temporal may be (4 MiB)")

// startOptions has no time-outs and no retry policy on purpose: on either, the server would close the run without its
// compensation.
func startOptions(r event.Receipt, reuse enumspb.WorkflowIdReusePolicy) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                                       r.WorkflowID(),
		TaskQueue:                                workflows.Queue(r.Priority),
		WorkflowIDReusePolicy:                    reuse,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		EnableEagerStart:                         true,
		Memo:                                     map[string]any{workflows.MemoEventID: r.ID},
		StaticSummary:                            summary(r),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			searchProvider.ValueSet(r.Provider),
			searchEventType.ValueSet(r.Type),
		),
	}
}

var (
	searchProvider  = temporal.NewSearchAttributeKeyKeyword(workflows.SearchProvider)
	searchEventType = temporal.NewSearchAttributeKeyKeyword(workflows.SearchEventType)
)

// summary is the line that Temporal Web shows for the run.
func summary(r event.Receipt) string {
	if r.Type == "" {
		return r.Provider + " (no type)"
	}
	return r.Provider + " " + r.Type
}

// earlierRun is the run that a start collided with.
type earlierRun struct {
	Started

	startedAt time.Time
}

// expired says that the run is too old for r to be its duplicate.
func (e earlierRun) expired(r event.Receipt) bool {
	return r.DedupeWindow > 0 && r.ReceivedAt.Sub(e.startedAt) > time.Duration(r.DedupeWindow)
}

func (s *Starter) describe(ctx context.Context, workflowID, runID string) (earlierRun, error) {
	response, err := s.client.DescribeWorkflowExecution(ctx, workflowID, runID)
	if err != nil {
		return earlierRun{}, fmt.Errorf("describe workflow %s: %w", workflowID, err)
	}
	info := response.GetWorkflowExecutionInfo()
	return earlierRun{
		Started: Started{
			WorkflowID: workflowID,
			RunID:      runID,
			EventID:    memoEventID(info, s.converter),
			State:      stateOf(info.GetStatus()),
		},
		startedAt: info.GetStartTime().AsTime(),
	}, nil
}

// withOutcome adds the result of an earlier run. It is a courtesy to the sender, so that nothing hangs on it.
func (s *Starter) withOutcome(ctx context.Context, e Started) Started {
	if e.State != StateProcessed {
		return e
	}
	ctx, cancel := withTimeout(ctx, outcomeTimeout)
	defer cancel()
	var result workflows.ProcessResult
	if err := s.client.GetWorkflow(ctx, e.WorkflowID, e.RunID).Get(ctx, &result); err != nil {
		return e
	}
	e.Outcome = result.Outcome
	if result.Owner != "" {
		e.EventID = result.Owner
	}
	return e
}

// outcomeTimeout bounds the look at an earlier result.
const outcomeTimeout = 500 * time.Millisecond

func memoEventID(info *workflowpb.WorkflowExecutionInfo, from converter.DataConverter) (id string) {
	field := info.GetMemo().GetFields()[workflows.MemoEventID]
	if field == nil || from.FromPayload(field, &id) != nil {
		return ""
	}
	return id
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

func isNotFound(err error) bool {
	var notFound *serviceerror.NotFound
	return errors.As(err, &notFound)
}
