package workflows

import (
	"cmp"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast/activities/operations"
	"holdfast/event/retention"
)

// purgeTurns bounds what one run removes of a kind, to about an hour of work; the next run goes on.
const purgeTurns = 60

// upkeep names the activities; the worker's own instance executes them.
var upkeep *operations.Upkeep

// archiveTries is for how long an archive that cannot be written is tried: the schedule skips what is due while a run lasts, and
// what needs no archive would wait with it.
const archiveTries = 30 * time.Minute

// purgeOrder ends with what may have to go to an archive.
func purgeOrder(ctx workflow.Context) []retention.Kept {
	all := retention.All()
	if !isVersioned(ctx, versionPurgeArchivedLast) {
		return all
	}
	archived := slices.DeleteFunc(slices.Clone(all), func(k retention.Kept) bool { return !isArchived(k) })
	return append(slices.DeleteFunc(all, isArchived), archived...)
}

func isArchived(k retention.Kept) bool { return k == retention.Events || k == retention.DeadLetters }

// PurgeExpired removes what has been kept for long enough, one kind after the other. A schedule starts it; the result says how
// much of each has gone. The error is the first one: a kind that cannot be removed leaves the others to be.
func PurgeExpired(ctx workflow.Context) (removed map[retention.Kept]int64, failed error) {
	removed = map[retention.Kept]int64{}
	for _, kept := range purgeOrder(ctx) {
		if kept == retention.Changes &&
			!isVersioned(ctx, versionPurgeChanges) {
			continue
		}
		n, err := purgeKept(ctx, kept)
		removed[kept] = n
		failed = cmp.Or(failed, err)
	}
	return removed, failed
}

func purgeKept(ctx workflow.Context, kept retention.Kept) (removed int64, err error) {
	lane := withOperationLane(ctx, "purge "+string(kept))
	if isArchived(kept) {
		lane = workflow.WithScheduleToCloseTimeout(lane, archiveTries)
	}
	for range purgeTurns {
		var turn operations.PurgeTurn
		if err := workflow.ExecuteActivity(lane, upkeep.PurgeExpired, kept).Get(ctx, &turn); err != nil {
			return removed, err
		}
		if removed += turn.Removed; turn.Drained {
			break
		}
	}
	return removed, nil
}
