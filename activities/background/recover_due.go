package background

import (
	"context"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"holdfast/event/operation"
)

// RecoverDue starts a recovery of each list for which a credential is configured, unless another one of the list has not ended:
// it may be paused. The list of a target is included once a recovery of it has ended. A repeated call starts nothing twice.
func (a *Activities) RecoverDue(ctx context.Context) (started []string, err error) {
	marks, err := a.Recoveries.Marks(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range a.dueLists(marks) {
		activity.RecordHeartbeat(ctx, m.Provider)
		r := m.Due(time.Now())
		isNew, err := a.Recoveries.Schedule(ctx, r)
		if err != nil {
			return started, err
		}
		if !isNew {
			continue
		}
		if err := a.Starter.Wake(ctx, operation.KindRecovery, r.ID); err != nil {
			return started, err // the next sweep starts it
		}
		started = append(started, r.ID)
	}
	return started, nil
}

func (a *Activities) dueLists(marks []operation.RecoveryMark) (due []operation.RecoveryMark) {
	for _, name := range a.Lists.Available() {
		list, err := a.Lists.Describe(name)
		if err != nil {
			continue // its definition was changed in between
		}
		own := operation.RecoveryMark{Provider: name}
		for _, m := range marks {
			switch {
			case m.Provider != name:
			case m.Target == "":
				own = m
			case !m.Watermark.IsZero():
				due = append(due, m)
			}
		}
		if !list.NeedsTarget {
			due = append(due, own)
		}
	}
	slices.SortStableFunc(due, func(a, b operation.RecoveryMark) int { return a.Watermark.Compare(b.Watermark) })
	return due
}
