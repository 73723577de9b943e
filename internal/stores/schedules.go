package stores

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"holdfast/internal/config"
	"holdfast/workflows"
)

// catchUp is how late a schedule's run may start after Temporal was down. Runs missed for longer aren't made up for: the next
// run finds the same work.
const catchUp = time.Minute

// observeEvery is how often the fields of new events are observed: soon enough to notice a change before it has spread.
const observeEvery = time.Minute

// Schedules returns an installation's schedules. A run that is due during the previous one is skipped.
func Schedules(cfg config.Config) []client.ScheduleOptions {
	return []client.ScheduleOptions{
		ScheduleOf(workflows.ScheduleReplay, workflows.TypeReplayDue, cfg.Replay.Interval),
		ScheduleOf(workflows.ScheduleSweep, workflows.TypeSweepRuns, cfg.Replay.SweepInterval),
		ScheduleOf(workflows.ScheduleRecover, workflows.TypeRecoverDue, cfg.Recovery.Interval),
		ScheduleOf(workflows.ScheduleObserve, workflows.TypeObserveFields, observeEvery),
		ScheduleOf(workflows.SchedulePurge, workflows.TypePurgeExpired, cfg.Retention.Interval),
	}
}

// ScheduleIDs returns the IDs of all schedules, including the notifications' schedules, which a worker creates.
func ScheduleIDs(cfg config.Config) (ids []string) {
	for _, s := range Schedules(cfg) {
		ids = append(ids, s.ID)
	}
	for _, s := range Notifications(cfg) {
		ids = append(ids, s.ID)
	}
	return ids
}

// Notifications returns the schedules of an installation with notification channels.
func Notifications(cfg config.Config) (schedules []client.ScheduleOptions) {
	if !cfg.Notify.URLs.IsSet() {
		return nil
	}
	schedules = append(schedules, ScheduleOf(workflows.ScheduleNotify, workflows.TypeNotify, cfg.Notify.Interval))
	if period := cfg.Notify.Report.Length(); period > 0 {
		schedules = append(schedules, reportOf(period))
	}
	return schedules
}

// reportOf is due at 07:00 UTC; intervals are counted from 1970-01-01, a Thursday, and weekly ones begin on Mondays. A late
// report is better than none.
func reportOf(period time.Duration) client.ScheduleOptions {
	const day, hour = 24 * time.Hour, 7 * time.Hour
	report := ScheduleOf(workflows.ScheduleReport, workflows.TypeReportHealth, period)
	report.Spec.Intervals[0].Offset = (4*day + hour) % period
	report.CatchupWindow = period / 2
	return report
}

// ScheduleOf returns a schedule that runs a workflow on the queue of operations, under the schedule's own ID.
func ScheduleOf(id, workflowType string, every time.Duration) client.ScheduleOptions {
	return client.ScheduleOptions{
		ID:   id,
		Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: every}}},
		Action: &client.ScheduleWorkflowAction{
			ID: id, Workflow: workflowType, TaskQueue: workflows.QueueOperations,
		},
		Overlap:       enumspb.SCHEDULE_OVERLAP_POLICY_SKIP,
		CatchupWindow: catchUp,
	}
}

// schedulesTimeout bounds retries on a busy Temporal.
const schedulesTimeout = 2 * time.Minute

// EnsureSchedules creates or updates the schedules. One that an operator has paused stays paused. If automatic replay is off,
// its schedule runs but starts nothing, so that a change of the configuration needs no migration. The client limits each call to
// ten seconds; EnsureSchedules retries slow calls for up to two minutes in all.
func EnsureSchedules(ctx context.Context, c client.Client, all ...client.ScheduleOptions) error {
	ctx, cancel := context.WithTimeout(ctx, schedulesTimeout)
	defer cancel()
	for _, want := range all {
		err := ensureSchedule(ctx, c.ScheduleClient(), want)
		for isLate(err) && ctx.Err() == nil {
			err = ensureSchedule(ctx, c.ScheduleClient(), want)
		}
		if err != nil {
			return fmt.Errorf("make schedule %s: %w", want.ID, err)
		}
	}
	return nil
}

// isLate reports that a call has timed out. It may have taken effect.
func isLate(err error) bool {
	var late *serviceerror.DeadlineExceeded
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &late)
}

func ensureSchedule(ctx context.Context, c client.ScheduleClient, want client.ScheduleOptions) error {
	_, err := c.Create(ctx, want)
	if !errors.Is(err, temporal.ErrScheduleAlreadyRunning) && !isAlreadyExists(err) {
		return err
	}
	return c.GetHandle(ctx, want.ID).Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			schedule := in.Description.Schedule
			schedule.Spec = &want.Spec
			schedule.Action = want.Action
			schedule.Policy = &client.SchedulePolicies{Overlap: want.Overlap, CatchupWindow: want.CatchupWindow}
			return &client.ScheduleUpdate{Schedule: &schedule}, nil
		},
	})
}

func isAlreadyExists(err error) bool {
	var exists *serviceerror.AlreadyExists
	return errors.As(err, &exists)
}
