package background

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"holdfast/event"
)

const (
	// acceptedPage is how many receipts one sweep reads at a time, and acceptedRuns how many runs it asks Temporal for, at most.
	acceptedPage = 500
	acceptedRuns = 500
	// acceptedAtOnce is how many of them it asks for at once.
	acceptedAtOnce = 8
)

// AcceptedStore reads the receipts of accepted events that weren't recorded some seconds later.
type AcceptedStore interface {
	// Accepted returns up to n receipts that no sweep has checked since a time, those unchecked for longest first.
	Accepted(ctx context.Context, before time.Time, n int) ([]event.Acknowledged, error)
	// Gone returns the IDs of events that the database doesn't have in any form.
	Gone(ctx context.Context, eventIDs []string) (map[string]bool, error)
	// SettleAccepted removes the receipts of events that are recorded, and marks others as checked.
	SettleAccepted(ctx context.Context, recorded, open []string) error
}

// SweepAccepted records the dead letters of acknowledged events whose runs were deleted from Temporal before they were recorded,
// and forgets the receipts of all others that are recorded by now. It returns the number of the dead letters. It can be repeated.
func (a *Activities) SweepAccepted(ctx context.Context) (lost int, err error) {
	begin, asked := time.Now(), 0
	for asked < acceptedRuns {
		page, err := a.Kept.Accepted(ctx, begin, acceptedPage)
		if err != nil || len(page) == 0 {
			return lost, err
		}
		n, missing, err := a.sweepAccepted(ctx, page)
		lost, asked = lost+n, asked+missing
		if err != nil {
			return lost, err
		}
	}
	return lost, nil
}

// sweepAccepted settles a page of receipts. asked is how many of its events the database doesn't have.
func (a *Activities) sweepAccepted(ctx context.Context, page []event.Acknowledged) (lost, asked int, err error) {
	ids := make([]string, len(page))
	for i, p := range page {
		ids[i] = p.Receipt.ID
	}
	gone, err := a.Kept.Gone(ctx, ids)
	if err != nil {
		return 0, 0, err
	}
	if len(gone) > 0 { // otherwise every event would count as lost in a wrong namespace
		if has, err := a.Runs.HasRuns(ctx); err != nil || !has {
			return 0, acceptedRuns, err // the next sweep tries again
		}
	}
	fates := make([]fate, len(page))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(acceptedAtOnce)
	for i, p := range page {
		if !gone[p.Receipt.ID] {
			fates[i] = recorded
			continue
		}
		group.Go(func() (err error) {
			fates[i], err = a.fateOf(ctx, p)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return 0, len(gone), err
	}
	return a.settleAccepted(context.WithoutCancel(ctx), page, fates, len(gone))
}

// fate is the outcome of an accepted event.
type fate int

const (
	unfinished fate = iota
	recorded        // or a duplicate, which has no row of its own
	deleted
)

// fateOf asks Temporal for the run of an event that the database doesn't have.
func (a *Activities) fateOf(ctx context.Context, e event.Acknowledged) (fate, error) {
	run, err := a.Runs.Run(ctx, event.Run{WorkflowID: e.Receipt.WorkflowID(), RunID: e.RunID})
	switch {
	case err != nil:
		return unfinished, err
	case run.Run.RunID == "":
		return deleted, nil
	case run.Succeeded:
		return recorded, nil
	default: // the sweep of closed runs records one that was ended from outside
		return unfinished, nil
	}
}

func (a *Activities) settleAccepted(
	ctx context.Context, page []event.Acknowledged, fates []fate, asked int,
) (lost, n int, err error) {
	var settled, open []string
	for i, e := range page {
		switch fates[i] {
		case unfinished:
			open = append(open, e.Receipt.ID)
			continue
		case deleted:
			d, err := a.recordLoss(ctx, e)
			if err != nil {
				return lost, asked, err
			}
			if d != nil {
				lost++
			}
		case recorded:
		}
		settled = append(settled, e.Receipt.ID)
	}
	return lost, asked, a.Kept.SettleAccepted(ctx, settled, open)
}

// recordLoss returns nil if the event was recorded meanwhile, or another event has its key.
func (a *Activities) recordLoss(ctx context.Context, e event.Acknowledged) (*event.DeadLetter, error) {
	d := event.DeadLetter{
		Receipt: e.Receipt, Body: []byte{}, Run: event.Run{WorkflowID: e.Receipt.WorkflowID(), RunID: e.RunID},
		State: event.DeadLetterExhausted, Failures: 1, FirstFailed: e.Receipt.ReceivedAt, LastFailed: e.Receipt.ReceivedAt,
		Failure: event.Failure{
			Step: event.StepRun, Class: event.ClassFailed, Code: event.CodeBodyLost, Message: event.BodyLostText, Attempts: 1,
			At: e.Receipt.ReceivedAt, // whatever is stored later counts
		},
	}
	var decision *event.DecisionError
	var duplicate *event.DuplicateError
	if err := a.DeadLetters.RecordDeadLetter(ctx, d); errors.As(err, &decision) || errors.As(err, &duplicate) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	reportSwept(ctx, "deleted", &d)
	return &d, nil
}
