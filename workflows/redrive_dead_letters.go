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
	page, err := workThrough(ctx, of, id, afterRedrivePage)
	if err != nil {
		return operation.Redrive{}, err
	}
	return page.Redrive, nil
}

func afterRedrivePage(page operation.RedriveProgress) afterPage {
	switch {
	case page.Settled:
		return afterPage{ended: true}
	case page.Redrive.State == operation.Paused:
		return afterPage{pause: pausedPollInterval}
	case page.Redrive.State != operation.Running || page.Drained:
		return afterPage{pause: settlingPollInterval}
	default:
		return afterPage{}
	}
}

// duePages bounds one run of the schedule; the next run continues.
const (
	duePages        = 100
	duePollInterval = 5 * time.Second
)

// RedriveDueResult counts what a run of the schedule did.
type RedriveDueResult struct {
	Started   int   `json:"started"`
	Planned   int64 `json:"planned"`
	Exhausted int64 `json:"exhausted"`
}

// RedriveDue runs due dead letters again. A schedule starts it every few minutes and skips it while the previous run is open.
func RedriveDue(ctx workflow.Context) (RedriveDueResult, error) {
	var result RedriveDueResult
	for range duePages {
		var page operation.DueProgress
		if err := workflow.ExecuteActivity(withOperationOptions(ctx, "due"), operate.RedriveDue).Get(ctx, &page); err != nil {
			return result, err
		}
		result.Started += page.Started
		result.Planned += page.Planned
		result.Exhausted += page.Exhausted
		if page.Drained {
			break
		}
		if page.Started == 0 { // the limit on open runs is reached
			if err := workflow.Sleep(ctx, duePollInterval); err != nil {
				return result, err
			}
		}
	}
	return result, nil
}
