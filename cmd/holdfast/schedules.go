package main

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

// schedule is a workflow that is started again and again. While one run works, the next one is skipped.
type schedule struct {
	id       string
	workflow string
	every    time.Duration
}

// upkeepSchedules are those that remove what is old and tell what has failed. Without anybody to tell there is none for that.
func upkeepSchedules(cfg config.Config) (wanted, unwanted []schedule) {
	purge := schedule{workflows.SchedulePurge, workflows.TypePurgeExpired, cfg.Retention.Every}
	tell := schedule{workflows.ScheduleNotify, workflows.TypeNotify, cfg.Notify.Every}
	if cfg.Notify.URLs.IsSet() {
		return []schedule{purge, tell}, nil
	}
	return []schedule{purge}, []schedule{tell}
}

// keepSchedules works beside the start of the workers: that a schedule cannot be made is no reason not to process events.
func (p *process) keepSchedules(ctx context.Context) {
	_ = waitFor(ctx, "Temporal's schedules", func(ctx context.Context) error { // it only ends early if the process does
		return ensureSchedules(ctx, p.temporal, p.cfg)
	})
}

// scheduleCatchup is how long after its time a run is still started, if Temporal was away.
const scheduleCatchup = time.Minute

// ensureSchedules makes the schedules what the configuration says. One that an operator has paused stays paused.
func ensureSchedules(ctx context.Context, c client.Client, cfg config.Config) error {
	wanted, unwanted := upkeepSchedules(cfg)
	for _, s := range wanted {
		if err := s.ensure(ctx, c.ScheduleClient()); err != nil {
			return fmt.Errorf("create schedule %s: %w", s.id, err)
		}
	}
	for _, s := range unwanted {
		err := c.ScheduleClient().GetHandle(ctx, s.id).Delete(ctx)
		var notFound *serviceerror.NotFound
		if err != nil && !errors.As(err, &notFound) {
			return fmt.Errorf("delete schedule %s: %w", s.id, err)
		}
	}
	return nil
}

func (s schedule) ensure(ctx context.Context, schedules client.ScheduleClient) error {
	_, err := schedules.Create(ctx, client.ScheduleOptions{
		ID: s.id, Spec: *s.spec(), Action: s.action(),
		Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: scheduleCatchup,
	})
	if !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return err
	}
	return schedules.GetHandle(ctx, s.id).Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			is := in.Description.Schedule
			is.Spec, is.Action = s.spec(), s.action()
			return &client.ScheduleUpdate{Schedule: &is}, nil
		},
	})
}

func (s schedule) spec() *client.ScheduleSpec {
	return &client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: s.every}}}
}

func (s schedule) action() *client.ScheduleWorkflowAction {
	return &client.ScheduleWorkflowAction{ID: s.id, Workflow: s.workflow, TaskQueue: workflows.QueueOperations}
}
