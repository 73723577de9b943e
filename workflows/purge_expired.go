package workflows

import (
	"cmp"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast/activities/background"
	"holdfast/event/retention"
)

// purgePages bounds the pages of a kind in one run, about an hour; the next run continues.
const purgePages = 60

// upkeep provides the activity names of maintenance.
var upkeep *background.Upkeep

// archiveTimeout bounds the retries while the archive isn't writable. While they continue, the schedule skips runs, which also
// delays the purge of data that needs no archive.
const archiveTimeout = 30 * time.Minute

// purgeOrder puts archived kinds last.
func purgeOrder() []retention.Kind {
	all := retention.All()
	archived := slices.DeleteFunc(slices.Clone(all), func(k retention.Kind) bool { return !isArchived(k) })
	return append(slices.DeleteFunc(all, isArchived), archived...)
}

func isArchived(k retention.Kind) bool { return k == retention.Events || k == retention.DeadLetters }

// PurgeExpired deletes expired data, one kind at a time. A schedule starts it. The result has the number of deletions. It
// returns the first error, but still purges the other kinds.
func PurgeExpired(ctx workflow.Context) (removed map[retention.Kind]int64, failed error) {
	removed = map[retention.Kind]int64{}
	for _, kind := range purgeOrder() {
		n, err := purgeKind(ctx, kind)
		removed[kind] = n
		failed = cmp.Or(failed, err)
	}
	return removed, failed
}

func purgeKind(ctx workflow.Context, kind retention.Kind) (removed int64, err error) {
	activityCtx := withOperationOptions(ctx, "purge "+string(kind))
	if isArchived(kind) {
		activityCtx = workflow.WithScheduleToCloseTimeout(activityCtx, archiveTimeout)
	}
	for range purgePages {
		var page background.PurgePage
		if err := workflow.ExecuteActivity(activityCtx, upkeep.PurgeExpired, kind).Get(ctx, &page); err != nil {
			return removed, err
		}
		if removed += page.Removed; page.Drained {
			break
		}
	}
	return removed, nil
}
