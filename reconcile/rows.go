package reconcile

import (
	"context"

	"holdfast/event"
	"holdfast/event/operation"
)

// rowsPage is how many events are read at a time, with their bodies.
const rowsPage = 200

// unfinished gives events that are stored, and whose run Temporal does not have, their dead letters. One whose latest run is
// open, or is to be told of by its own page, is left to that.
func (s *Service) unfinished(ctx context.Context, page operation.RowPage, dry bool, tell Look) (last string, err error) {
	records, err := s.Rows.Unfinished(ctx, page)
	if err == nil && len(records) > 0 {
		err = s.checkRuns(ctx)
	}
	if err != nil {
		return "", err
	}
	for _, r := range records {
		last = r.Receipt.ID
		d, err := s.unfinishedEvent(ctx, r, dry)
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil || d != nil:
			tell(operation.ClosedRun{Run: r.Run, EventID: r.Receipt.ID}, d, err)
		}
	}
	return last, nil
}

// checkRuns refuses what has no run of any event: there is nothing to compare with, and every event would count as lost.
func (s *Service) checkRuns(ctx context.Context) error {
	if has, err := s.Runs.HasRuns(ctx); has || err != nil {
		return err
	}
	return event.Rejectf("no_runs", "Temporal's namespace has no run of any event: is it the right one? "+
		"If all of Temporal was lost, send one event first")
}

func (s *Service) unfinishedEvent(ctx context.Context, r event.Record, dry bool) (*event.DeadLetter, error) {
	latest, err := s.Runs.LatestRun(ctx, r.Receipt.WorkflowID())
	if err != nil || latest.EventID == r.Receipt.ID {
		return nil, err
	}
	if latest.Run.RunID != "" && latest.EventID == "" { // it may well be the one that works on the event
		return nil, event.Rejectf("unreadable_run", "the latest run of workflow %s does not say whose it is: it is malformed, or its "+
			"payload key is missing", latest.Run.WorkflowID)
	}
	return s.record(ctx, &event.DeadLetter{
		Receipt: r.Receipt, Body: r.Body, Run: r.Run, State: event.DeadLetterOpen, Failures: 1,
		FirstFailed: r.PersistedAt, LastFailed: r.PersistedAt,
		Failure: event.Failure{
			Step: event.StepRun, Class: event.ClassFailed, Code: operation.CodeNoRun, Attempts: 1, At: r.PersistedAt,
			Message: "the event is stored and not processed, and Temporal has no run of it",
		},
	}, dry)
}

// keyless gives processed events their keys back.
func (s *Service) keyless(
	ctx context.Context, page operation.RowPage, dry bool, tell func(event.Receipt, error),
) (last string, err error) {
	receipts, last, err := s.Rows.Keyless(ctx, page)
	if err != nil {
		return "", err
	}
	for _, r := range receipts {
		var failed error
		if !dry {
			failed = s.Rows.ClaimKey(ctx, r)
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		tell(r, failed)
	}
	return last, nil
}
