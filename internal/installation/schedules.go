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

// EnsureSchedules creates the schedules, or brings them up to date. One that an operator has paused stays paused. Where
// automatic redrive is off its schedule goes on and starts nothing, so that a change of the configuration needs no migration.
func EnsureSchedules(ctx context.Context, c client.Client, all ...client.ScheduleOptions) error {
	for _, want := range all {
		if err := ensureSchedule(ctx, c.ScheduleClient(), want); err != nil {
			return fmt.Errorf("make schedule %s: %w", want.ID, err)
		}
	}
	return nil
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
