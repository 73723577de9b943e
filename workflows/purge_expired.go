package workflows

import (
	"go.temporal.io/sdk/workflow"

	"holdfast/activities/operations"
	"holdfast/event"
)

// purgeTurns bounds what one run removes of a kind, to about an hour of work; the next run goes on.
const purgeTurns = 60

// upkeep names the activities; the worker's own instance executes them.
var upkeep *operations.Upkeep

// PurgeExpired removes what has been kept for long enough, one kind after the other. A schedule starts it; the result says how
// much of each has gone.
func PurgeExpired(ctx workflow.Context) (map[event.Kept]int64, error) {
	removed := map[event.Kept]int64{}
	for _, kept := range event.AllKept() {
		for range purgeTurns {
			var turn operations.PurgeTurn
			lane := withOperationLane(ctx, "purge "+string(kept))
			if err := workflow.ExecuteActivity(lane, upkeep.PurgeExpired, kept).Get(ctx, &turn); err != nil {
				return removed, err
			}
			removed[kept] += turn.Removed
			if turn.Drained {
				break
			}
		}
	}
	return removed, nil
}
