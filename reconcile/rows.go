package reconcile

import (
	"context"

	"holdfast/event"
	"holdfast/event/operation"
)

// rowsPage is how many events are read at a time, with their bodies.
const rowsPage = 200

// Unfinished looks at a page of events that are stored and not processed, and gives those their dead letters that no open run
// works on; a dry run only finds them. An event that cannot be judged is told of and passed over. Last is the ID that the page
// has come to, empty if there are no more.
func (s *Service) Unfinished(ctx context.Context, page operation.RowPage, tell Look) (last string, err error) {
	records, err := s.Rows.Unfinished(ctx, page)
	if err == nil && len(records) > 0 {
		err = s.checkRuns(ctx)
	}
	if err != nil {
		return "", err
	}
	for _, r := range records {
		last = r.Receipt.ID
		d, err := s.unfinishedEvent(ctx, r, page)
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

func (s *Service) unfinishedEvent(ctx context.Context, r event.Record, page operation.RowPage) (*event.DeadLetter, error) {
	latest, err := s.Runs.LatestRun(ctx, r.Receipt.WorkflowID())
	if err != nil {
		return nil, err
	}
	if latest.EventID == r.Receipt.ID {
		return s.endedRun(ctx, latest, page)
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
			Message: "the event is stored and not processed, and Temporal has no run of it: replay it, or let the automatic redrive do so",
		},
	}, page.DryRun)
}

// endedRun gives the dead letter of an event whose own run has ended without finishing it. That run may have done so after the
// page was read.
func (s *Service) endedRun(ctx context.Context, latest operation.LatestRun, page operation.RowPage) (*event.DeadLetter, error) {
	if latest.Open || !page.Ended {
		return nil, nil
	}
	run := operation.ClosedRun{Run: latest.Run, EventID: latest.EventID, Status: latest.Status, ClosedAt: latest.ClosedAt}
	unrecorded, err := s.Events.Unrecorded(ctx, []operation.ClosedRun{run})
	if err != nil || len(unrecorded) == 0 {
		return nil, err
	}
	return s.closedRun(ctx, run, operation.SweepPage{Restored: true, DryRun: page.DryRun})
}

// keyless gives processed events their keys back.
func (s *Service) keyless(
	ctx context.Context, page operation.RowPage, dry bool, tell func(event.Receipt, error),
) (last string, err error) {
	receipts, last, err := s.Keys.Keyless(ctx, page)
	if err != nil {
		return "", err
	}
	for _, r := range receipts {
		var failed error
		if !dry {
			failed = s.Keys.ClaimKey(ctx, r)
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		tell(r, failed)
	}
	return last, nil
}
