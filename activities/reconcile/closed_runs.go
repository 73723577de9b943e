package reconcile

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/event/operation"
)

// runsAtOnce is how many runs are read concurrently. Each takes several calls to Temporal, which are slow when it is busy.
const runsAtOnce = 8

// ReportFunc receives the result of one run or event: its dead letter, or the error because of which it was skipped.
type ReportFunc func(run operation.ClosedRun, d *event.DeadLetter, err error)

// ClosedRuns checks a page of closed runs and records dead letters for events that are neither stored nor dead letters; a dry run
// only finds them. It skips events that have a later run. If a run can't be read or its event can't be stored, it reports the
// error and continues.
func (s *Service) ClosedRuns(ctx context.Context, page operation.SweepPage, report ReportFunc) (next []byte, err error) {
	runs, next, err := s.Runs.ClosedRuns(ctx, page)
	if err != nil {
		return nil, err
	}
	if runs, err = s.Events.Unrecorded(ctx, runs); err != nil {
		return nil, err
	}
	found := make([]*event.DeadLetter, len(runs))
	failures := make([]error, len(runs))
	var group errgroup.Group
	group.SetLimit(runsAtOnce)
	for i, run := range runs {
		group.Go(func() error {
			found[i], failures[i] = s.closedRun(ctx, run, page)
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i, run := range runs {
		if found[i] != nil || failures[i] != nil {
			report(run, found[i], failures[i])
		}
	}
	return next, nil
}

// closedRun returns the dead letter of a run, nil if none is needed. The event ID may be in the memo, in the history, or in both.
func (s *Service) closedRun(ctx context.Context, run operation.ClosedRun, page operation.SweepPage) (*event.DeadLetter, error) {
	latest, err := s.Runs.LatestRun(ctx, run.Run.WorkflowID)
	if err != nil {
		return nil, err
	}
	isLater := func(eventID string) bool {
		return latest.Run.RunID != run.Run.RunID && eventID != "" && latest.EventID == eventID
	}
	if isLater(run.EventID) {
		return nil, nil
	}
	d, err := s.Runs.DeadLetterOf(ctx, run, page.Restored)
	if err != nil || d == nil || isLater(d.Receipt.ID) {
		return nil, err
	}
	if page.MayBeDecided && d.Failure.Code != operation.CodeLost {
		awaitOperator(d)
	}
	return s.record(ctx, d, page.DryRun)
}

// awaitOperator leaves a dead letter to operators: no schedule replays it.
func awaitOperator(d *event.DeadLetter) {
	d.State = event.DeadLetterExhausted
	d.Failure.Message += event.MayBeDecided
}

// record returns nil if an operator has decided about the event, or if it is a duplicate.
func (s *Service) record(ctx context.Context, d *event.DeadLetter, dry bool) (*event.DeadLetter, error) {
	if dry {
		return d, nil
	}
	var decision *event.DecisionError
	var duplicate *event.DuplicateError
	if err := s.Events.RecordDeadLetter(ctx, *d); errors.As(err, &decision) || errors.As(err, &duplicate) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return d, nil
}
