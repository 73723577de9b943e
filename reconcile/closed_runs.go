package reconcile

import (
	"context"
	"errors"

	"holdfast/event"
	"holdfast/event/operation"
)

// Look is what has come of one run or event: its dead letter, or the error that it was passed over for.
type Look func(run operation.ClosedRun, d *event.DeadLetter, err error)

// ClosedRuns looks at a page of the runs that have ended, and gives those their dead letters whose events would otherwise be in
// neither table; a dry run only finds them. An event whose workflow has a later run of its own, since it was started again or
// reset, is with that one. A run that cannot be read, or whose event cannot be stored, is told of and passed over: nothing about
// the others waits for it.
func (s *Service) ClosedRuns(ctx context.Context, page operation.SweepPage, tell Look) (next []byte, err error) {
	runs, next, err := s.Runs.ClosedRuns(ctx, page)
	if err != nil {
		return nil, err
	}
	if runs, err = s.Events.Unrecorded(ctx, runs); err != nil {
		return nil, err
	}
	for _, run := range runs {
		d, err := s.closedRun(ctx, run, page)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil || d != nil:
			tell(run, d, err)
		}
	}
	return next, nil
}

// closedRun gives the dead letter of a run, nil if none is needed. The ID of its event may stand in the memo, in the history, or
// in both.
func (s *Service) closedRun(ctx context.Context, run operation.ClosedRun, page operation.SweepPage) (*event.DeadLetter, error) {
	latest, err := s.Runs.LatestRun(ctx, run.Run.WorkflowID)
	if err != nil {
		return nil, err
	}
	isWith := func(eventID string) bool {
		return latest.Run.RunID != run.Run.RunID && eventID != "" && latest.EventID == eventID
	}
	if isWith(run.EventID) {
		return nil, nil
	}
	d, err := s.Runs.DeadLetterOf(ctx, run, page.Restored)
	if err != nil || d == nil || isWith(d.Receipt.ID) {
		return nil, err
	}
	return s.record(ctx, d, page.DryRun)
}

// record is nil for an event about which an operator has decided, or whose key another event has, which counts.
func (s *Service) record(ctx context.Context, d *event.DeadLetter, dry bool) (*event.DeadLetter, error) {
	if dry {
		return d, nil
	}
	var verdict *event.VerdictError
	var duplicate *event.DuplicateError
	if err := s.Events.RecordDeadLetter(ctx, *d); errors.As(err, &verdict) || errors.As(err, &duplicate) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return d, nil
}
