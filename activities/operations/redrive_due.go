package operations

import (
	"context"

	"go.temporal.io/sdk/activity"

	"holdfast/event/operation"
)

// RedriveDue runs one turn of the automatic redrive: it schedules unscheduled dead letters, and starts due ones for some
// seconds. It can be killed at any moment and run again. If automatic redrive is off, it does nothing.
func (a *Activities) RedriveDue(ctx context.Context) (operation.DueProgress, error) {
	policy := a.Automatic()
	if policy.Attempts == 0 {
		return operation.DueProgress{Drained: true}, nil
	}
	owner := activity.GetInfo(ctx).WorkflowExecution.ID
	restart := a.newRestart(owner, policy.Rate)
	if err := restart.leftovers(ctx); err != nil {
		return operation.DueProgress{}, err
	}
	var done operation.DueProgress
	var err error
	if done.Planned, done.Exhausted, err = a.Due.PlanAutomaticRedrive(ctx, policy); err != nil {
		return done, err
	}
	for turn := newTurn(ctx); !turn.over(); {
		page, err := a.Due.ClaimDue(ctx, owner, policy, chunkFor(policy.Rate), inFlight(policy.Rate))
		if err != nil {
			return done, err
		}
		if err := restart.fresh(ctx, page.Letters); err != nil {
			return done, err
		}
		done.Started += len(page.Letters)
		if len(page.Letters) == 0 {
			done.Drained = page.Drained
			break
		}
	}
	return done, nil
}
