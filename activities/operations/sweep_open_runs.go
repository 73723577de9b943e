package operations

import (
	"context"
	"log/slog"
	"time"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// maxExamined is how many open runs one sweep examines.
const maxExamined = 200

// SweepOpenRuns reports, by reason, the runs of events that were started before a time and are still open. They aren't dead
// letters: the event is safe, and continues as soon as the cause is fixed.
func (a *Activities) SweepOpenRuns(ctx context.Context, before time.Time) (map[string]int, error) {
	runs, total, err := a.Runs.OpenRuns(ctx, before, maxExamined)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, run := range runs {
		if run.EventID != "" {
			ids = append(ids, run.EventID)
		}
	}
	stored, err := a.Sweeps.StoredEvents(ctx, ids)
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for reason, found := range operation.CountStuck(runs, stored, total) {
		counts[string(reason)] = found.Count
		foundStuck(ctx, string(reason), found.Count)
		slog.WarnContext(ctx, "sweep.stuck", "reason", reason, "runs", found.Count,
			"workflow_id", found.Oldest.Run.WorkflowID, "since", found.Oldest.StartedAt)
		a.alertStuck(reason, found)
	}
	return counts, nil
}

// alertStuck notifies operators of runs that don't continue automatically, at each sweep until they do.
func (a *Activities) alertStuck(reason operation.Stuck, found operation.StuckRuns) {
	if a.Errors == nil || reason != operation.StuckTask && reason != operation.StuckUnstored {
		return
	}
	a.Errors.Record(oversight.ErrorEntry{
		Phase: event.PhaseUpkeep, Class: event.ClassFailed, Code: "stuck_" + string(reason), Count: int64(found.Count), Alert: true,
		Message: "runs are open for long and do not get on",
		Meta:    map[string]string{"workflow_id": found.Oldest.Run.WorkflowID, "since": found.Oldest.StartedAt.Format(time.RFC3339)},
	})
}
