package reconcile

import (
	"context"

	"holdfast/event"
	"holdfast/event/operation"
)

// rowsPage is the page size of events with bodies.
const rowsPage = 200

// Unfinished checks a page of unprocessed events and records dead letters for those without an open run; a dry run only finds
// them. It reports and skips events that it can't check. last is the last ID of the page, empty if there are no more.
func (s *Service) Unfinished(ctx context.Context, page operation.RowPage, report ReportFunc) (last string, err error) {
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
			report(operation.ClosedRun{Run: r.Run, EventID: r.Receipt.ID}, d, err)
		}
	}
	return last, nil
}

// checkRuns returns an error if Temporal has no run of any event: otherwise every event would count as lost.
func (s *Service) checkRuns(ctx context.Context) error {
	if has, err := s.Runs.HasRuns(ctx); has || err != nil {
		return err
	}
	return event.Rejectf("no_runs", "Temporal's namespace has no run of any event. Is it the right namespace? "+
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
	if latest.Run.RunID != "" && latest.EventID == "" { // it may be the run of this event
		return nil, event.Rejectf("unreadable_run", "the latest run of workflow %s has no readable event ID: it is malformed, or its "+
			"payload key is missing", latest.Run.WorkflowID)
	}
	d := &event.DeadLetter{
		Receipt: r.Receipt, Body: r.Body, Run: r.Run, State: event.DeadLetterOpen, Failures: 1,
		FirstFailed: r.PersistedAt, LastFailed: r.PersistedAt,
		Failure: event.Failure{
			Step: event.StepRun, Class: event.ClassFailed, Code: operation.CodeNoRun, Attempts: 1, At: r.PersistedAt,
			Message: "the event is stored but not processed, and Temporal has no run of it: replay it, or wait for the automatic replay",
		},
	}
	if page.MayBeDecided {
		d.Failure.Message = "the event is stored but not processed, and Temporal has no run of it"
		awaitOperator(d)
	}
	return s.record(ctx, d, page.DryRun)
}

// endedRun returns the dead letter of an event whose own run ended without finishing it, unless the run finished after the page
// was read.
func (s *Service) endedRun(ctx context.Context, latest operation.LatestRun, page operation.RowPage) (*event.DeadLetter, error) {
	if latest.Open || !page.Ended {
		return nil, nil
	}
	run := operation.ClosedRun{Run: latest.Run, EventID: latest.EventID, Status: latest.Status, ClosedAt: latest.ClosedAt}
	unrecorded, err := s.Events.Unrecorded(ctx, []operation.ClosedRun{run})
	if err != nil || len(unrecorded) == 0 {
		return nil, err
	}
	return s.closedRun(ctx, run, operation.SweepPage{Restored: true, MayBeDecided: page.MayBeDecided, DryRun: page.DryRun})
}

// claimKeys claims the missing keys of processed events.
func (s *Service) claimKeys(
	ctx context.Context, page operation.RowPage, dry bool, report func(event.Receipt, error),
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
		report(r, failed)
	}
	return last, nil
}
