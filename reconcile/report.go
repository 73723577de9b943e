package reconcile

import (
	"context"
	"time"

	"holdfast/event"
	"holdfast/event/operation"
)

// Kind is what one of the two stores lacks.
type Kind string

// The kinds, in the order in which they are looked for.
const (
	// RunWithoutRow is a run that has ended, and whose event is neither stored nor a dead letter.
	RunWithoutRow Kind = "run_without_row"
	// RowWithoutRun is an event that is stored and not processed, and that no run works on.
	RowWithoutRun Kind = "row_without_run"
	// RowWithoutKey is a processed event whose key nobody has.
	RowWithoutKey Kind = "row_without_key"
	// Unreadable is a run or an event that was passed over.
	Unreadable Kind = "unreadable"
)

// Finding is how many events are of a kind.
type Finding struct {
	Kind  Kind `json:"kind"`
	Count int  `json:"count"`
	// Examples are workflow IDs, maxExamples at most.
	Examples []string `json:"examples"`
	// Errors are those of the examples, where they were passed over.
	Errors []string `json:"errors,omitempty"`
}

const maxExamples = 5

// Report is what a comparison has found, and, unless it was dry, repaired.
type Report struct {
	// Since and Until bound when runs have ended and events were accepted: Since ≤ time < Until.
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
	DryRun bool      `json:"dry_run,omitempty"`
	// Findings has each kind, in their order.
	Findings []Finding `json:"findings"`
}

// Repairs is how many of its findings something can be done about.
func (r Report) Repairs() (n int) {
	for _, f := range r.Findings {
		if f.Kind != Unreadable {
			n += f.Count
		}
	}
	return n
}

// Finding is the one of a kind.
func (r Report) Finding(k Kind) Finding {
	for _, f := range r.Findings {
		if f.Kind == k {
			return f
		}
	}
	return Finding{Kind: k}
}

func (r Report) add(k Kind, workflowID string, err error) {
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Kind != k {
			continue
		}
		if f.Count++; f.Count <= maxExamples {
			f.Examples = append(f.Examples, workflowID)
			if err != nil {
				f.Errors = append(f.Errors, err.Error())
			}
		}
	}
}

// Compare looks at everything of a time. It may be stopped and begun anew at any moment: what is repaired is not found again.
func (s *Service) Compare(ctx context.Context, since, until time.Time, dry bool) (Report, error) {
	r := Report{Since: since, Until: until, DryRun: dry}
	for _, k := range []Kind{RunWithoutRow, RowWithoutRun, RowWithoutKey, Unreadable} {
		r.Findings = append(r.Findings, Finding{Kind: k, Examples: []string{}})
	}
	if err := s.compareRuns(ctx, r); err != nil {
		return r, err
	}
	if err := s.compareRows(ctx, r); err != nil {
		return r, err
	}
	return r, s.compareKeys(ctx, r)
}

func (r Report) look(k Kind) Look {
	return func(run operation.ClosedRun, _ *event.DeadLetter, err error) {
		if err != nil {
			r.add(Unreadable, run.Run.WorkflowID, err)
			return
		}
		r.add(k, run.Run.WorkflowID, nil)
	}
}

func (s *Service) compareRuns(ctx context.Context, r Report) error {
	page := operation.SweepPage{Since: r.Since, Until: r.Until, Restored: true, DryRun: r.DryRun}
	for {
		next, err := s.ClosedRuns(ctx, page, r.look(RunWithoutRow))
		if err != nil || len(next) == 0 {
			return err
		}
		page.Token = next
	}
}

func (s *Service) compareRows(ctx context.Context, r Report) error {
	return r.eachPage(func(p operation.RowPage) (string, error) {
		return s.Unfinished(ctx, p, r.look(RowWithoutRun))
	})
}

func (s *Service) compareKeys(ctx context.Context, r Report) error {
	found := func(of event.Receipt, err error) {
		if err != nil {
			r.add(Unreadable, of.WorkflowID(), err)
			return
		}
		r.add(RowWithoutKey, of.WorkflowID(), nil)
	}
	return r.eachPage(func(p operation.RowPage) (string, error) { return s.keyless(ctx, p, r.DryRun, found) })
}

// eachPage reads pages of events until one is empty.
func (r Report) eachPage(read func(operation.RowPage) (last string, err error)) error {
	page := operation.RowPage{After: event.FirstIDAt(r.Since), Before: event.FirstIDAt(r.Until), Limit: rowsPage, DryRun: r.DryRun}
	for {
		last, err := read(page)
		if err != nil || last == "" {
			return err
		}
		page.After = last
	}
}
