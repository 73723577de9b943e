package reconcile

import (
	"context"
	"slices"
	"time"

	"holdfast/event"
	"holdfast/event/operation"
)

// Kind is a kind of inconsistency.
type Kind string

// The kinds, in the order of the checks.
const (
	// RunWithoutRow: a closed run whose event is neither stored nor a dead letter.
	RunWithoutRow Kind = "run_without_row"
	// RowWithoutRun: an unprocessed event without an open run.
	RowWithoutRun Kind = "row_without_run"
	// RowWithoutKey: a processed event whose key is unclaimed.
	RowWithoutKey Kind = "row_without_key"
	// Unreadable: a run or an event that was skipped because of an error.
	Unreadable Kind = "unreadable"
)

// Inconsistency counts the events of one kind.
type Inconsistency struct {
	Kind  Kind `json:"kind"`
	Count int  `json:"count"`
	// Examples has at most maxExamples workflow IDs.
	Examples []string `json:"examples"`
	// Errors explains the examples, if they were skipped.
	Errors []string `json:"errors,omitempty"`
}

const maxExamples = 5

// Comparison is the result of a comparison.
type Comparison struct {
	// Since and Until bound the end of runs and the acceptance of events: Since ≤ time < Until.
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
	DryRun bool      `json:"dry_run,omitempty"`
	// Findings has each kind, in order.
	Findings []Inconsistency `json:"findings"`
}

// Repairs returns the number of findings that can be repaired.
func (r Comparison) Repairs() (n int) {
	for _, f := range r.Findings {
		if f.Kind != Unreadable {
			n += f.Count
		}
	}
	return n
}

// Finding returns the finding of a kind.
func (r Comparison) Finding(k Kind) Inconsistency {
	for _, f := range r.Findings {
		if f.Kind == k {
			return f
		}
	}
	return Inconsistency{Kind: k}
}

// add counts a workflow ID under k, or under Unreadable if it was skipped because of err.
func (r Comparison) add(k Kind, workflowID string, err error) {
	if err != nil {
		k = Unreadable
	}
	f := &r.Findings[slices.IndexFunc(r.Findings, func(f Inconsistency) bool { return f.Kind == k })]
	if f.Count++; f.Count > maxExamples {
		return
	}
	f.Examples = append(f.Examples, workflowID)
	if err != nil {
		f.Errors = append(f.Errors, err.Error())
	}
}

// Compare checks, and unless dry repairs, a time range. It can be interrupted and repeated: repaired events aren't found again.
func (s *Service) Compare(ctx context.Context, since, until time.Time, dry bool) (Comparison, error) {
	r := Comparison{Since: since, Until: until, DryRun: dry}
	for _, k := range []Kind{RunWithoutRow, RowWithoutRun, RowWithoutKey, Unreadable} {
		r.Findings = append(r.Findings, Inconsistency{Kind: k, Examples: []string{}})
	}
	if err := s.compareRuns(ctx, r); err != nil {
		return r, err
	}
	err := r.eachPage(func(p operation.RowPage) (string, error) { return s.Unfinished(ctx, p, r.count(RowWithoutRun)) })
	if err != nil {
		return r, err
	}
	return r, r.eachPage(func(p operation.RowPage) (string, error) {
		return s.claimKeys(ctx, p, dry, func(of event.Receipt, err error) { r.add(RowWithoutKey, of.WorkflowID(), err) })
	})
}

func (r Comparison) count(k Kind) ReportFunc {
	return func(run operation.ClosedRun, _ *event.DeadLetter, err error) { r.add(k, run.Run.WorkflowID, err) }
}

func (s *Service) compareRuns(ctx context.Context, r Comparison) error {
	page := operation.SweepPage{Since: r.Since, Until: r.Until, Restored: true, DryRun: r.DryRun}
	for {
		next, err := s.ClosedRuns(ctx, page, r.count(RunWithoutRow))
		if err != nil || len(next) == 0 {
			return err
		}
		page.Token = next
	}
}

// eachPage reads pages of events until one is empty.
func (r Comparison) eachPage(read func(operation.RowPage) (last string, err error)) error {
	page := operation.RowPage{After: event.FirstIDAt(r.Since), Before: event.FirstIDAt(r.Until), Limit: rowsPage, DryRun: r.DryRun}
	for {
		last, err := read(page)
		if err != nil || last == "" {
			return err
		}
		page.After = last
	}
}
