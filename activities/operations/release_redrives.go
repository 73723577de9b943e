package operations

import "context"

// released is how many dead letters one sweep looks at.
const released = 500

// ReleaseRedrives lets dead letters wait again that have been redriving for long without a run: whoever took them was killed
// before the start.
func (a *Activities) ReleaseRedrives(ctx context.Context) (n int, err error) {
	stale, err := a.Sweeps.StaleRedrives(ctx, released)
	if err != nil {
		return 0, err
	}
	for _, d := range stale {
		latest, err := a.Starter.LatestRun(ctx, d.Receipt.WorkflowID())
		if err != nil {
			return n, err
		}
		if latest.EventID == d.Receipt.ID && (latest.Open || latest.Run.RunID != d.Run.RunID && latest.EndedByOperator()) {
			continue // the sweep of closed runs adds that an operator has ended it
		}
		if err := a.Sweeps.ReleaseStale(ctx, d.ID); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// WakeRedrives makes sure that each bulk redrive, rebuild, resend and import which has not ended has a workflow: one may have
// been terminated, or its start may have failed.
func (a *Activities) WakeRedrives(ctx context.Context) (n int, err error) {
	for _, kind := range []struct {
		active func(context.Context) ([]string, error)
		wake   func(ctx context.Context, id string) error
	}{
		{a.Redrives.UnsettledRedrives, a.Starter.WakeRedrive},
		{a.Rebuilds.ActiveRebuilds, a.Starter.WakeRebuild},
		{a.Resends.ActiveResends, a.Starter.WakeResend},
		{a.Imports.ActiveImports, a.Starter.WakeImport},
	} {
		ids, err := kind.active(ctx)
		if err != nil {
			return n, err
		}
		for _, id := range ids {
			if err := kind.wake(ctx, id); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}
