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
		if latest.Open && latest.EventID == d.Receipt.ID {
			continue
		}
		if err := a.Sweeps.ReleaseStale(ctx, d.ID); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// WakeRedrives makes sure that each bulk redrive and each rebuild which has not ended has a workflow: one may have been
// terminated, or its start may have failed.
func (a *Activities) WakeRedrives(ctx context.Context) (n int, err error) {
	redrives, err := a.Redrives.UnsettledRedrives(ctx)
	if err != nil {
		return 0, err
	}
	rebuilds, err := a.Rebuilds.ActiveRebuilds(ctx)
	if err != nil {
		return 0, err
	}
	for _, id := range redrives {
		if err := a.Starter.WakeRedrive(ctx, id); err != nil {
			return n, err
		}
		n++
	}
	for _, id := range rebuilds {
		if err := a.Starter.WakeRebuild(ctx, id); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
