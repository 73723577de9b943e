package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast/event/operation"
)

// settlingPollInterval is the pause between two checks of a replay that waits for its last runs. A signal ends it early.
const settlingPollInterval = 5 * time.Second

// ReplayDeadLetters runs one bulk replay, page by page, until every run that it started has ended.
func ReplayDeadLetters(ctx workflow.Context, id string) (operation.Replay, error) {
	of := pagedOperation{operation.KindReplay, operate.ReplayPage, operate.CancelReplay}
	page, err := workThrough(ctx, of, id, afterReplayPage)
	if err != nil {
		return operation.Replay{}, err
	}
	return page.Replay, nil
}

func afterReplayPage(page operation.ReplayProgress) afterPage {
	switch {
	case page.Settled:
		return afterPage{ended: true}
	case page.Replay.State == operation.Paused:
		return afterPage{pause: pausedPollInterval}
	case page.Replay.State != operation.Running || page.Drained:
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

// ReplayDueResult counts what a run of the schedule did.
type ReplayDueResult struct {
	Started   int   `json:"started"`
	Planned   int64 `json:"planned"`
	Exhausted int64 `json:"exhausted"`
}

// ReplayDue runs due dead letters again. A schedule starts it every few minutes and skips it while the previous run is open.
func ReplayDue(ctx workflow.Context) (ReplayDueResult, error) {
	var result ReplayDueResult
	for range duePages {
		var page operation.DueProgress
		if err := workflow.ExecuteActivity(withOperationOptions(ctx, "due"), operate.ReplayDue).Get(ctx, &page); err != nil {
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
