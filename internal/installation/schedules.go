package installation

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

// catchUp is how late a run of a schedule may be after Temporal was away. What was missed for longer is not made up for: the
// next run finds the same work.
const catchUp = time.Minute

// Schedules are those that an installation has. A run that is due while the one before still works is skipped.
func Schedules(cfg config.Config) []client.ScheduleOptions {
	return []client.ScheduleOptions{
		ScheduleOf(workflows.ScheduleRedrive, workflows.TypeRedriveDue, cfg.Redrive.Interval),
		ScheduleOf(workflows.ScheduleSweep, workflows.TypeSweepRuns, cfg.Redrive.SweepInterval),
		ScheduleOf(workflows.SchedulePurge, workflows.TypePurgeExpired, cfg.Retention.Every),
	}
}

// ScheduleIDs are those of all schedules that there should be: those of notifications are made by a worker.
func ScheduleIDs(cfg config.Config) (ids []string) {
	for _, s := range Schedules(cfg) {
		ids = append(ids, s.ID)
	}
	for _, s := range Notifications(cfg) {
		ids = append(ids, s.ID)
	}
	return ids
}

// Notifications are the schedules of an installation that has somebody to tell.
func Notifications(cfg config.Config) (schedules []client.ScheduleOptions) {
	if !cfg.Notify.URLs.IsSet() {
		return nil
	}
	schedules = append(schedules, ScheduleOf(workflows.ScheduleNotify, workflows.TypeNotify, cfg.Notify.Every))
	if period := cfg.Notify.Report.Length(); period > 0 {
		schedules = append(schedules, reportOf(period))
	}
	return schedules
}

// reportOf is due at 07:00 UTC; intervals are counted from 1970-01-01, a Thursday, and those of a week begin on Mondays. A report
// that comes late is better than none.
func reportOf(period time.Duration) client.ScheduleOptions {
	const day, hour = 24 * time.Hour, 7 * time.Hour
	report := ScheduleOf(workflows.ScheduleReport, workflows.TypeReportHealth, period)
	report.Spec.Intervals[0].Offset = (4*day + hour) % period
	report.CatchupWindow = period / 2
	return report
}

// ScheduleOf is a schedule that runs a workflow on the queue of operations, under the schedule's own ID.
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

// schedulesLimit bounds how long a Temporal that is busy is asked again.
const schedulesLimit = 2 * time.Minute

// EnsureSchedules creates the schedules, or brings them up to date. One that an operator has paused stays paused. Where
// automatic redrive is off its schedule goes on and starts nothing, so that a change of the configuration needs no migration.
// The client gives each call ten seconds; what a busy Temporal has not done by then is tried again, for two minutes in all.
func EnsureSchedules(ctx context.Context, c client.Client, all ...client.ScheduleOptions) error {
	ctx, cancel := context.WithTimeout(ctx, schedulesLimit)
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

// isLate says that a call has taken longer than it may. It may have been done all the same.
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
