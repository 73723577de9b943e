package runs

import (
	"context"
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/event/oversight"
)

// Schedules reads the state of schedules from Temporal.
type Schedules struct {
	Client client.Client
	IDs    []string
}

// overdue is the delay from which a scheduled run counts as a problem. SlowAfter is the number of intervals from which an open
// run does: it blocks the next ones.
const (
	overdue   = time.Minute
	SlowAfter = 3
)

// Read returns the state of each schedule. A missing one is a problem in its state, not an error.
func (s Schedules) Read(ctx context.Context) ([]oversight.ScheduleStats, error) {
	stats := make([]oversight.ScheduleStats, len(s.IDs))
	group, ctx := errgroup.WithContext(ctx)
	for i, id := range s.IDs {
		group.Go(func() (err error) {
			stats[i], err = s.describe(ctx, id)
			return err
		})
	}
	return stats, group.Wait()
}

// RunNow runs a schedule's workflow at once, or after the one that is running. A paused schedule stays paused.
func (s Schedules) RunNow(ctx context.Context, id string) error {
	schedule := s.Client.ScheduleClient().GetHandle(ctx, id)
	described, err := schedule.Describe(ctx)
	if err != nil || described.Schedule.State.Paused {
		return err
	}
	return schedule.Trigger(ctx, client.ScheduleTriggerOptions{Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE})
}

func (s Schedules) describe(ctx context.Context, id string) (oversight.ScheduleStats, error) {
	stats := oversight.ScheduleStats{ID: id}
	described, err := s.Client.ScheduleClient().GetHandle(ctx, id).Describe(ctx)
	switch {
	case isNotFound(err):
		stats.Trouble = "the schedule is missing: run holdfast migrate"
		return stats, nil
	case err != nil:
		return stats, err
	}
	for _, interval := range described.Schedule.Spec.Intervals {
		stats.Every = max(stats.Every, event.Duration(interval.Every))
	}
	if next := described.Info.NextActionTimes; len(next) > 0 {
		stats.NextAt = &next[0]
	}
	if err := s.addLast(ctx, &stats, described.Info); err != nil {
		return stats, err
	}
	stats.Trouble = troubleOf(stats, described.Schedule.State, time.Now())
	return stats, nil
}

// addLast adds the last run, unless Temporal has deleted it.
func (s Schedules) addLast(ctx context.Context, stats *oversight.ScheduleStats, info client.ScheduleInfo) error {
	if len(info.RecentActions) == 0 {
		return nil
	}
	last := info.RecentActions[len(info.RecentActions)-1]
	stats.LastAt = &last.ActualTime
	if last.StartWorkflowResult == nil {
		return nil
	}
	run, err := s.Client.DescribeWorkflowExecution(ctx, last.StartWorkflowResult.WorkflowID, "")
	if isNotFound(err) {
		return nil // deleted after its retention
	}
	if err == nil {
		stats.LastRun = strings.ToLower(run.GetWorkflowExecutionInfo().GetStatus().String())
	}
	return err
}

func troubleOf(stats oversight.ScheduleStats, state *client.ScheduleState, now time.Time) string {
	failed := strings.ToLower(enumspb.WORKFLOW_EXECUTION_STATUS_FAILED.String())
	running := strings.ToLower(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING.String())
	timedOut := strings.ToLower(enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT.String())
	switch {
	case state != nil && state.Paused && state.Note != "":
		return "paused: " + state.Note
	case state != nil && state.Paused:
		return "paused"
	case stats.LastRun == failed, stats.LastRun == timedOut:
		return "the last run has " + strings.Replace(stats.LastRun, "timedout", "timed out", 1)
	case stats.LastRun == running && stats.LastAt != nil && now.Sub(*stats.LastAt) > SlowAfter*time.Duration(stats.Every):
		return fmt.Sprintf("its run has been open for more than %d intervals", SlowAfter)
	case stats.NextAt != nil && now.Sub(*stats.NextAt) > overdue:
		return "the next run is overdue"
	case stats.NextAt == nil:
		return "no further run is scheduled"
	}
	return ""
}
