package operations

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"holdfast/activities"
	"holdfast/event/retention"
)

// purgeTurn bounds one execution, so that a purge of millions is many of them, each of which is seen to progress.
const purgeTurn = time.Minute

// maxPurgePause is well below the time after which an execution that does not tell that it lives is given up.
const maxPurgePause = 2 * time.Second

// PurgeTurn says how far one execution has come.
type PurgeTurn struct {
	Removed int64 `json:"removed"`
	Drained bool  `json:"drained"`
}

// PurgeExpired removes what has been kept for long enough, batch by batch. After each it pauses as long as that has taken,
// so that it never has more than half of one connection's work, and leaves the rest to the events.
func (u *Upkeep) PurgeExpired(ctx context.Context, kept retention.Kept) (turn PurgeTurn, err error) {
	keep, err := u.keep(ctx, kept)
	if err != nil {
		return turn, err
	}
	before, ok := keep.Until(kept, time.Now())
	if !ok {
		return PurgeTurn{Drained: true}, nil
	}
	end := time.Now().Add(purgeTurn)
	for time.Now().Before(end) {
		activity.RecordHeartbeat(ctx, turn.Removed)
		begin := time.Now()
		n, err := u.Retention.PurgeBatch(ctx, kept, before)
		if err != nil {
			return turn, err
		}
		turn.Removed += n
		if n == 0 {
			turn.Drained = true
			return turn, nil
		}
		if err := activities.Pause(ctx, min(time.Since(begin), maxPurgePause)); err != nil {
			return turn, err
		}
	}
	return turn, nil
}

// keep is Keep, but events outlast their runs.
func (u *Upkeep) keep(ctx context.Context, kept retention.Kept) (retention.Times, error) {
	if kept != retention.Events || u.Keep[kept] == 0 {
		return u.Keep, nil
	}
	ofRuns, err := u.Runs.Retention(ctx)
	return u.Keep.OutlastingRuns(ofRuns), err
}
