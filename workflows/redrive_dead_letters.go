package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast/event/operation"
)

// settlingPollInterval is the pause between two checks of a redrive that waits for its last runs. A signal ends it early.
const settlingPollInterval = 5 * time.Second

// RedriveDeadLetters runs one bulk redrive, page by page, until every run that it started has ended.
func RedriveDeadLetters(ctx workflow.Context, id string) (operation.Redrive, error) {
	of := pagedOperation{operation.KindRedrive, operate.RedrivePage, operate.CancelRedrive}
	page, err := workThrough(ctx, of, id, restOfRedrive)
	if err != nil {
		return operation.Redrive{}, err
	}
	return page.Redrive, nil
}

func restOfRedrive(page operation.RedriveProgress) rest {
	switch {
	case page.Settled:
		return rest{ended: true}
	case page.Redrive.State == operation.Paused:
		return rest{pause: pausedPollInterval}
	case page.Redrive.State != operation.Running || page.Drained:
		return rest{pause: settlingPollInterval}
	default:
		return rest{}
	}
}
