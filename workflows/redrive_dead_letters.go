package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast/event/operation"
)

// settlingLook is the pause between two looks at a redrive that waits for its last runs. A signal ends it early.
const settlingLook = 5 * time.Second

// RedriveDeadLetters works through one bulk redrive, page by page, until each run that it has started is at its end. Its
// row in redrives is what it obeys.
func RedriveDeadLetters(ctx workflow.Context, id string) (operation.Redrive, error) {
	of := pagedOperation{operation.KindRedrive, operate.RedrivePage, operate.CancelRedrive}
	turn, err := workThrough(ctx, of, id, restOfRedrive)
	if err != nil {
		return operation.Redrive{}, err
	}
	return turn.Redrive, nil
}

func restOfRedrive(turn operation.RedriveTurn) rest {
	switch {
	case turn.Settled:
		return rest{ended: true}
	case turn.Redrive.State == operation.Paused:
		return rest{pause: pausedLook}
	case turn.Redrive.State != operation.Running || turn.Drained:
		return rest{pause: settlingLook}
	default:
		return rest{}
	}
}
