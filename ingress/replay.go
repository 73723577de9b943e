package ingress

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"holdfast/event"
)

// ErrNotReplayable is returned for an event whose latest run is open or has succeeded.
var ErrNotReplayable = errors.New("its latest run is open or has succeeded")

// Replay runs a dead-lettered event again: the same workflow ID, event ID and bytes.
func (s *Starter) Replay(ctx context.Context, r event.Receipt, body []byte) (Started, error) {
	runID, err := s.execute(ctx, r, body, enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY)
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &started) {
		return Started{}, fmt.Errorf("replay workflow %s (run %s): %w", r.WorkflowID(), started.RunId, ErrNotReplayable)
	}
	if err != nil {
		return Started{}, fmt.Errorf("replay workflow %s: %w", r.WorkflowID(), err)
	}
	return Started{WorkflowID: r.WorkflowID(), RunID: runID, EventID: r.ID, State: StateAccepted}, nil
}
