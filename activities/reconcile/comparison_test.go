package reconcile_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/activities/reconcile"
	"holdfast/event"
	"holdfast/event/operation"
)

// stores are two pages of runs, two of events, and what has been recorded.
type stores struct {
	runs     [][]operation.ClosedRun
	records  []event.Record
	latest   map[string]operation.LatestRun // by workflow ID
	keyless  []event.Receipt
	finished bool     // what is asked for has been finished meanwhile
	claimed  []string // keys

	mu       sync.Mutex
	recorded []string // error codes
}

func (s *stores) ClosedRuns(_ context.Context, p operation.SweepPage) ([]operation.ClosedRun, []byte, error) {
	n := len(p.Token)
	if n+1 < len(s.runs) {
		return s.runs[n], append(p.Token, 'x'), nil
	}
	return s.runs[n], nil, nil
}

func (s *stores) DeadLetterOf(_ context.Context, run operation.ClosedRun, restored bool) (*event.DeadLetter, error) {
	switch {
	case !restored || run.Status == "duplicate":
		return nil, nil
	case run.Status == "unreadable":
		return nil, errors.New("its payload key is missing")
	}
	return &event.DeadLetter{Receipt: event.Receipt{ID: run.EventID}, Failure: event.Failure{Code: operation.CodeLost}}, nil
}

func (s *stores) HasRuns(context.Context) (bool, error) { return len(s.latest) > 0, nil }

func (s *stores) LatestRun(_ context.Context, workflowID string) (operation.LatestRun, error) {
	return s.latest[workflowID], nil
}

func (s *stores) Unrecorded(_ context.Context, runs []operation.ClosedRun) ([]operation.ClosedRun, error) {
	if s.finished {
		return nil, nil
	}
	return runs, nil
}

func (s *stores) RecordDeadLetter(_ context.Context, d event.DeadLetter) error {
	if d.Receipt.ID == "decided" {
		return &event.DecisionError{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorded = append(s.recorded, d.Failure.Code)
	return nil
}

func (s *stores) Unfinished(_ context.Context, p operation.RowPage) (page []event.Record, err error) {
	for _, r := range s.records {
		if r.Receipt.ID > p.After && len(page) < 1 {
			page = append(page, r)
		}
	}
	return page, nil
}

func (s *stores) Keyless(_ context.Context, p operation.RowPage) ([]event.Receipt, string, error) {
	if p.After > "k" {
		return nil, "", nil
	}
	return s.keyless, "key", nil
}

func (s *stores) ClaimKey(_ context.Context, r event.Receipt) error {
	s.claimed = append(s.claimed, r.Key)
	return nil
}

// All pages of runs and events are checked. Those that one of the two lacks are counted, and repaired unless it is a dry run.
// Failing ones are reported and don't block others.
func TestEverythingOfATimeIsCompared(t *testing.T) {
	t.Parallel()
	run := func(eventID, status string) operation.ClosedRun {
		return operation.ClosedRun{Run: event.Run{WorkflowID: "acme:" + eventID, RunID: "1"}, EventID: eventID, Status: status}
	}
	row := func(id string) event.Record {
		return event.Record{Receipt: event.Receipt{ID: id, Provider: "acme", Key: id}, Run: event.Run{WorkflowID: "acme:" + id}}
	}
	s := &stores{
		runs: [][]operation.ClosedRun{
			{run("lost", "completed"), run("twice", "duplicate"), run("broken", "unreadable")},
			{run("decided", "completed"), run("followed", "failed"), run("gone", "completed")},
		},
		records: []event.Record{row("e1"), row("e2"), row("e3")},
		latest: map[string]operation.LatestRun{
			"acme:followed": {Run: event.Run{RunID: "2"}, EventID: "followed"},
			"acme:e2":       {Run: event.Run{RunID: "1"}, EventID: "e2", Open: true},
			"acme:e3":       {Run: event.Run{RunID: "1"}, EventID: "another of the key", Open: true},
		},
		keyless: []event.Receipt{{Provider: "acme", Key: "k1"}},
	}
	service := &reconcile.Service{Runs: s, Events: s, Rows: s, Keys: s}
	counts := func(dry bool) (counts []int) {
		report, err := service.Compare(t.Context(), time.Time{}, time.Now(), dry)
		require.NoError(t, err)
		for _, f := range report.Findings {
			counts = append(counts, f.Count)
		}
		require.Equal(t, []string{"acme:broken"}, report.Finding(reconcile.Unreadable).Examples)
		require.Equal(t, []string{"its payload key is missing"}, report.Finding(reconcile.Unreadable).Errors)
		return counts
	}
	require.Equal(t, []int{3, 2, 1, 1}, counts(true), "a dry run does not know of decisions")
	require.Empty(t, s.recorded)
	require.Empty(t, s.claimed)
	require.Equal(t, []int{2, 2, 1, 1}, counts(false))
	require.Equal(t, []string{"lost", "lost", "no_run", "no_run"}, s.recorded)
	require.Equal(t, []string{"k1"}, s.claimed)
}

// A run without a readable event ID may be processing the event, which is only slow:
//   - no dead letter is recorded, and the error is reported
func TestARunThatDoesNotSayWhoseItIsKeepsItsEvent(t *testing.T) {
	t.Parallel()
	s := &stores{
		runs:    [][]operation.ClosedRun{{}},
		records: []event.Record{{Receipt: event.Receipt{ID: "e1", Provider: "acme", Key: "e1"}, Run: event.Run{WorkflowID: "acme:e1"}}},
		latest:  map[string]operation.LatestRun{"acme:e1": {Run: event.Run{WorkflowID: "acme:e1", RunID: "1"}, Open: true}},
	}
	service := &reconcile.Service{Runs: s, Events: s, Rows: s, Keys: s}
	report, err := service.Compare(t.Context(), time.Time{}, time.Now(), false)
	require.NoError(t, err)
	require.Empty(t, s.recorded)
	require.Zero(t, report.Finding(reconcile.RowWithoutRun).Count)
	require.Equal(t, []string{"acme:e1"}, report.Finding(reconcile.Unreadable).Examples)
}

// A namespace without any run of an event is empty, or the wrong one:
//   - no event is declared lost
func TestAnEmptyNamespaceIsRefused(t *testing.T) {
	t.Parallel()
	s := &stores{
		runs:    [][]operation.ClosedRun{{}},
		records: []event.Record{{Receipt: event.Receipt{ID: "e1", Provider: "acme", Key: "e1"}}},
	}
	service := &reconcile.Service{Runs: s, Events: s, Rows: s, Keys: s}
	_, err := service.Compare(t.Context(), time.Time{}, time.Now(), false)
	require.Equal(t, "no_runs", event.CodeOf(err))
	require.Empty(t, s.recorded)
}

// The sweep looks at unfinished events whose own run has ended, too:
//   - one that the run has finished since the event was read is no dead letter
//   - one that it has not finished is
//   - an open run keeps its event
func TestAnUnfinishedEventWhoseRunHasEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		finished, open bool
		want           []string
	}{"finished": {finished: true}, "lost": {want: []string{operation.CodeLost}}, "open": {open: true}} {
		s := &stores{
			records: []event.Record{{Receipt: event.Receipt{ID: "e1", Provider: "acme", Key: "e1"}}},
			latest: map[string]operation.LatestRun{"acme:e1": {
				Run: event.Run{WorkflowID: "acme:e1", RunID: "1"}, EventID: "e1", Open: c.open, Status: "completed",
			}},
			finished: c.finished,
		}
		service := &reconcile.Service{Runs: s, Events: s, Rows: s}
		last, err := service.Unfinished(t.Context(), operation.RowPage{Limit: 10, Ended: true},
			func(operation.ClosedRun, *event.DeadLetter, error) {})
		require.NoError(t, err)
		require.Equal(t, "e1", last)
		require.Equal(t, c.want, s.recorded, name)
	}
}
