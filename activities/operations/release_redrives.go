package operations

import (
	"context"

	"holdfast/event"
	"holdfast/event/operation"
)

// releasePage is the page size of a sweep, in dead letters.
const releasePage = 500

// ReleaseRedrives returns dead letters to the waiting state that have long been redriving without a run, because their owner
// was killed before the start. Those with an open run stay as they are, so each page begins after the last one.
func (a *Activities) ReleaseRedrives(ctx context.Context) (n int, err error) {
	for after := int64(0); ; {
		stale, err := a.Sweeps.StaleRedrives(ctx, after, releasePage)
		if err != nil {
			return n, err
		}
		for _, d := range stale {
			isReleased, err := a.releaseRedrive(ctx, d)
			if err != nil {
				return n, err
			}
			if isReleased {
				n++
			}
			after = d.ID
		}
		if len(stale) < releasePage {
			return n, nil
		}
	}
}

func (a *Activities) releaseRedrive(ctx context.Context, d event.DeadLetter) (isReleased bool, err error) {
	latest, err := a.Starter.LatestRun(ctx, d.Receipt.WorkflowID())
	if err != nil {
		return false, err
	}
	if latest.EventID == d.Receipt.ID && (latest.Open || latest.Run.RunID != d.Run.RunID && latest.EndedByOperator()) {
		return false, nil // the sweep of closed runs records that an operator has ended it
	}
	return true, a.Sweeps.ReleaseStale(ctx, d.ID)
}

// SignalRedrives makes sure that each unfinished bulk redrive, rebuild, resend and import has a workflow: it may have been
// terminated, or its start may have failed.
func (a *Activities) SignalRedrives(ctx context.Context) (n int, err error) {
	for _, of := range []struct {
		kind   operation.Kind
		active func(context.Context) ([]string, error)
	}{
		{operation.KindRedrive, a.Redrives.Active},
		{operation.KindRebuild, a.Rebuilds.Active},
		{operation.KindResend, a.Resends.Active},
		{operation.KindImport, a.Imports.Active},
	} {
		ids, err := of.active(ctx)
		if err != nil {
			return n, err
		}
		for _, id := range ids {
			if err := a.Starter.Wake(ctx, of.kind, id); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}
