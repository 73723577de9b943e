package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast/event/operation"
)

// dueTurns bounds one run of the schedule; what is left is due the next time.
const (
	dueTurns = 100
	dueLook  = 5 * time.Second
)

// RedriveDueResult says what a run of the schedule has done.
type RedriveDueResult struct {
	Started   int   `json:"started"`
	Planned   int64 `json:"planned"`
	Exhausted int64 `json:"exhausted"`
}

// RedriveDue runs dead letters again whose time has come. The schedule starts it every few minutes and skips it while
// the one before still works.
func RedriveDue(ctx workflow.Context) (RedriveDueResult, error) {
	var result RedriveDueResult
	for range dueTurns {
		var turn operation.DueTurn
		if err := workflow.ExecuteActivity(withOperationLane(ctx, "due"), operate.RedriveDue).Get(ctx, &turn); err != nil {
			return result, err
		}
		result.Started += turn.Started
		result.Planned += turn.Planned
		result.Exhausted += turn.Exhausted
		if turn.Drained {
			break
		}
		if turn.Started == 0 { // as many are open as may be
			if err := workflow.Sleep(ctx, dueLook); err != nil {
				return result, err
			}
		}
	}
	return result, nil
}
