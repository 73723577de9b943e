package operations

import (
	"context"
	"log/slog"
	"time"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// The reasons why an open run is in trouble, the most urgent first.
const (
	// stuckTask: its workflow task fails or times out again and again; the event waits for a deploy.
	stuckTask = "workflow_task"
	// stuckUnstored: the event has been acknowledged and has no row yet.
	stuckUnstored = "not_stored"
	// stuckSlow: it is stored and retried, as its policy says.
	stuckSlow = "slow"
	// stuckUnexamined: beyond those that one sweep looks at.
	stuckUnexamined = "unexamined"
)

const (
	// examined is how many open runs one sweep looks at.
	examined = 200
	// taskAttempts is how often a workflow task may be tried before it counts as stuck: a deploy costs one or two.
	taskAttempts = 3
)

// SweepOpenRuns tells of the runs of events that were started before a time and are still open, by reason. They are no
// dead letters: the event is safe, and goes on as soon as the cause is gone.
func (a *Activities) SweepOpenRuns(ctx context.Context, before time.Time) (map[string]int, error) {
	runs, total, err := a.Runs.OpenRuns(ctx, before, examined)
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
	counts, oldest := map[string]int{}, map[string]operation.OpenRun{}
	for _, run := range runs {
		reason := whyStuck(run, stored)
		counts[reason]++
		if first, ok := oldest[reason]; !ok || run.StartedAt.Before(first.StartedAt) {
			oldest[reason] = run
		}
	}
	if rest := total - len(runs); rest > 0 {
		counts[stuckUnexamined] = rest
	}
	for reason, n := range counts {
		foundStuck(ctx, reason, n)
		slog.WarnContext(ctx, "sweep.stuck", "reason", reason, "runs", n,
			"workflow_id", oldest[reason].Run.WorkflowID, "since", oldest[reason].StartedAt)
		a.alertStuck(reason, n, oldest[reason])
	}
	return counts, nil
}

// alertStuck tells of what does not go on by itself, at each sweep until it is gone.
func (a *Activities) alertStuck(reason string, n int, oldest operation.OpenRun) {
	if a.Errors == nil || reason != stuckTask && reason != stuckUnstored {
		return
	}
	a.Errors.Record(oversight.ErrorEntry{
		Phase: event.PhaseUpkeep, Class: event.ClassFailed, Code: "stuck_" + reason, Count: int64(n), Alert: true,
		Message: "runs are open for long and do not get on",
		Meta:    map[string]string{"workflow_id": oldest.Run.WorkflowID, "since": oldest.StartedAt.Format(time.RFC3339)},
	})
}

func whyStuck(run operation.OpenRun, stored map[string]bool) string {
	switch {
	case run.TaskAttempts >= taskAttempts:
		return stuckTask
	case !stored[run.EventID]:
		return stuckUnstored
	default:
		return stuckSlow
	}
}
