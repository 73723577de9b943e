package operations

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"holdfast/activities"
	"holdfast/event/retention"
)

// purgeDuration bounds one execution, so that a purge of millions takes many executions, each of which reports progress.
const purgeDuration = time.Minute

// maxPurgePause keeps the pause shorter than the heartbeat timeout.
const maxPurgePause = 2 * time.Second

// PurgePage is the progress of one execution.
type PurgePage struct {
	Removed int64 `json:"removed"`
	Drained bool  `json:"drained"`
}

// PurgeExpired removes expired rows batch by batch. After each batch it pauses for as long as the batch took, so that it never
// uses more than half of one connection and leaves the rest to the events.
func (u *Upkeep) PurgeExpired(ctx context.Context, kept retention.Kept) (page PurgePage, err error) {
	keep, err := u.keep(ctx, kept)
	if err != nil {
		return page, err
	}
	before, ok := keep.Until(kept, time.Now())
	if !ok {
		return PurgePage{Drained: true}, nil
	}
	end := time.Now().Add(purgeDuration)
	for time.Now().Before(end) {
		activity.RecordHeartbeat(ctx, page.Removed)
		begin := time.Now()
		n, err := u.Retention.PurgeBatch(ctx, kept, before)
		if err != nil {
			return page, err
		}
		page.Removed += n
		if n == 0 {
			page.Drained = true
			return page, nil
		}
		if err := activities.Pause(ctx, min(time.Since(begin), maxPurgePause)); err != nil {
			return page, err
		}
	}
	return page, nil
}

// keep is Keep, except that events outlast their runs.
func (u *Upkeep) keep(ctx context.Context, kept retention.Kept) (retention.Times, error) {
	if kept != retention.Events || u.Keep[kept] == 0 {
		return u.Keep, nil
	}
	ofRuns, err := u.Runs.Retention(ctx)
	return u.Keep.OutlastingRuns(ofRuns), err
}
