package background

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"holdfast/activities"
	"holdfast/activities/reconcile"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// RunReader reads runs from Temporal.
type RunReader interface {
	reconcile.Runs
	// OpenRuns returns up to limit runs of events that were started before a time and are still open, and the number of all.
	OpenRuns(ctx context.Context, before time.Time, limit int) (runs []operation.OpenRun, total int, err error)
	// Run returns a run; the zero value if Temporal doesn't have it.
	Run(ctx context.Context, run event.Run) (operation.LatestRun, error)
	// BatchedEvents returns the events that a page of completed batches of the bulk lane has processed.
	BatchedEvents(ctx context.Context, p operation.SweepPage) (found []operation.BatchedEvent, next []byte, err error)
}

// SweepStore compares runs with rows.
type SweepStore interface {
	// Unrecorded returns the runs whose event is neither processed nor a dead letter.
	Unrecorded(ctx context.Context, runs []operation.ClosedRun) ([]operation.ClosedRun, error)
	// Unfinished returns events that are stored, unprocessed and no dead letters, by ID, with their bodies.
	Unfinished(ctx context.Context, p operation.RowPage) ([]event.Record, error)
	// StoredEvents returns the event IDs that have a row.
	StoredEvents(ctx context.Context, ids []string) (map[string]bool, error)
	// StaleReplays returns the first n dead letters with an ID above after that have long been replaying.
	StaleReplays(ctx context.Context, after int64, n int) ([]event.DeadLetter, error)
	// ReleaseStale returns one of them to the waiting state.
	ReleaseStale(ctx context.Context, id int64) error
}

// SweepClosedRuns records the dead letters of a page of runs that were ended from outside. It can be repeated for the same
// runs. A run that can't be read doesn't block the others.
func (a *Activities) SweepClosedRuns(ctx context.Context, page operation.SweepPage) (operation.SweptPage, error) {
	var swept operation.SweptPage
	if is, err := a.isSeen(ctx, page.Seen); !is {
		return swept, err
	}
	compare := reconcile.Service{Runs: a.Runs, Events: sweptEvents{a.Sweeps, a.DeadLetters}}
	next, err := compare.ClosedRuns(ctx, page, func(run operation.ClosedRun, d *event.DeadLetter, err error) {
		if err != nil {
			swept.Add(1, run.ClosedAt)
			a.reportUnswept(ctx, run, err)
			return
		}
		swept.DeadLetters++
		reportSwept(ctx, run.Status, d)
		swept.Healed = swept.Healed.With(restoredAs(d))
	})
	swept.Next = next
	return swept, err
}

// restoredAs counts a dead letter for a sweep that heals a setback; other sweeps ignore it.
func restoredAs(d *event.DeadLetter) operation.Healed {
	switch {
	case d.State == event.DeadLetterExhausted:
		return operation.Healed{Waiting: 1}
	case d.Failure.Code == operation.CodeLost || d.Failure.Code == operation.CodeNoRun:
		return operation.Healed{Again: 1}
	default: // a run that was ended from outside
		return operation.Healed{}
	}
}

func reportSwept(ctx context.Context, status string, d *event.DeadLetter) {
	sweepCounters().deadLetters.Add(ctx, 1, metric.WithAttributes(attribute.String("status", status)))
	event.LogDeadLetter(event.ContextLogger{Context: ctx}, d.Receipt, d.Failure, time.Since(d.Receipt.ReceivedAt))
}

// reportUnswept reports a run whose event may be lost: acknowledged, unprocessed, and without a dead letter.
func (a *Activities) reportUnswept(ctx context.Context, run operation.ClosedRun, err error) {
	class, code := activities.Classify(err)
	slog.ErrorContext(ctx, "sweep.run_failed", "workflow_id", run.Run.WorkflowID, "run_id", run.Run.RunID,
		"event_id", run.EventID, "status", run.Status, "error_class", string(class), "error_code", code, "error", err.Error())
	if a.Errors == nil {
		return
	}
	a.Errors.Record(oversight.ErrorEntry{
		Phase: event.PhaseUpkeep, Class: class, Code: code, Message: err.Error(), Alert: class != event.ClassTransient,
		Meta: map[string]string{
			"workflow_id": run.Run.WorkflowID, "run_id": run.Run.RunID, "event_id": run.EventID, "status": run.Status,
		},
	})
}

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
		sweepCounters().stuck.Add(ctx, int64(found.Count),
			metric.WithAttributes(attribute.String("reason", string(reason))))
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

// SweepUnfinished records the dead letters of events that are stored, unprocessed and without an open run: Temporal has lost or
// deleted their runs. It processes one page. An event that can't be judged doesn't block the others.
func (a *Activities) SweepUnfinished(ctx context.Context, page operation.RowPage) (swept operation.SweptRows, err error) {
	if is, err := a.isSeen(ctx, page.Seen); !is {
		return swept, err
	}
	compare := reconcile.Service{Runs: a.Runs, Events: sweptEvents{a.Sweeps, a.DeadLetters}, Rows: a.Sweeps}
	swept.Last, err = compare.Unfinished(ctx, page, func(run operation.ClosedRun, d *event.DeadLetter, err error) {
		if err != nil {
			a.reportUnswept(ctx, run, err)
			return
		}
		swept.DeadLetters++
		reportSwept(ctx, d.Failure.Code, d)
		swept.Healed = swept.Healed.With(restoredAs(d))
	})
	if event.ClassOf(err) == event.ClassRejected { // the wrong or an empty namespace: the next sweep retries
		a.reportUnswept(ctx, operation.ClosedRun{}, err)
		return operation.SweptRows{}, nil
	}
	return swept, err
}

// sweptEvents compares events with their runs, and records dead letters.
type sweptEvents struct {
	SweepStore
	activities.DeadLetterStore
}

// sweepCounters ignores errors: a sweep must not fail because of metrics. They aren't gauges, because the next sweep may run in
// another process, and this one's last value would stay.
var sweepCounters = sync.OnceValue(func() (m struct{ deadLetters, stuck metric.Int64Counter }) {
	meter := otel.Meter("holdfast/activities")
	m.deadLetters, _ = meter.Int64Counter("holdfast_sweep_dead_letters_total",
		metric.WithDescription("Dead letters that a sweep has recorded for a run that could not, by the status of the run."))
	m.stuck, _ = meter.Int64Counter("holdfast_sweep_stuck_runs_total",
		metric.WithDescription("Open runs of events that a sweep found stuck, by reason; a run counts in each sweep."))
	return m
})

// releasePage is the page size of a sweep, in dead letters.
const releasePage = 500

// ReleaseReplays returns dead letters to the waiting state that have long been replaying without a run, because their owner
// was killed before the start. Those with an open run stay as they are, so each page begins after the last one.
func (a *Activities) ReleaseReplays(ctx context.Context) (n int, err error) {
	for after := int64(0); ; {
		stale, err := a.Sweeps.StaleReplays(ctx, after, releasePage)
		if err != nil {
			return n, err
		}
		for _, d := range stale {
			isReleased, err := a.releaseReplay(ctx, d)
			if err != nil {
				return n, err
			}
			if isReleased {
				n++
			}
			after = d.ID
		}
		if len(stale) < releasePage {
			return n, nil
		}
	}
}

func (a *Activities) releaseReplay(ctx context.Context, d event.DeadLetter) (isReleased bool, err error) {
	latest, err := a.Starter.LatestRun(ctx, d.Receipt.WorkflowID())
	if err != nil {
		return false, err
	}
	if latest.EventID == d.Receipt.ID && (latest.Open || latest.Run.RunID != d.Run.RunID && latest.EndedByOperator()) {
		return false, nil // the sweep of closed runs records that an operator has ended it
	}
	return true, a.Sweeps.ReleaseStale(ctx, d.ID)
}

// SignalReplays makes sure that each unfinished bulk replay, rebuild, resend, import and recovery has a workflow: it may have
// been terminated, or its start may have failed.
func (a *Activities) SignalReplays(ctx context.Context) (n int, err error) {
	for _, of := range []struct {
		kind   operation.Kind
		active func(context.Context) ([]string, error)
	}{
		{operation.KindReplay, a.Replays.Active},
		{operation.KindRebuild, a.Rebuilds.Active},
		{operation.KindResend, a.Resends.Active},
		{operation.KindImport, a.Imports.Active},
		{operation.KindRecovery, a.Recoveries.Active},
	} {
		ids, err := of.active(ctx)
		if err != nil {
			return n, err
		}
		for _, id := range ids {
			if err := a.Starter.Wake(ctx, of.kind, id); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}
