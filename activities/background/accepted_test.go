package background

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/activities"
	"holdfast/event"
	"holdfast/event/operation"
)

// acceptedWorld stands in for Temporal and the store, for states that can't be made on demand.
type acceptedWorld struct {
	RunReader
	activities.DeadLetterStore

	kept          []event.Acknowledged
	rows          map[string]bool
	runs          map[string]operation.LatestRun // by run ID
	isEmpty       bool
	refusals      map[string]error
	unanswered    error
	settled, open []string
	dead          []event.DeadLetter
	checked       int
}

func (w *acceptedWorld) Accepted(_ context.Context, _ time.Time, n int) ([]event.Acknowledged, error) {
	page := w.kept[w.checked:min(len(w.kept), w.checked+n)]
	w.checked += len(page)
	return page, nil
}

func (w *acceptedWorld) Gone(_ context.Context, ids []string) (map[string]bool, error) {
	gone := map[string]bool{}
	for _, id := range ids {
		if !w.rows[id] {
			gone[id] = true
		}
	}
	return gone, nil
}

func (w *acceptedWorld) SettleAccepted(_ context.Context, recorded, open []string) error {
	w.settled, w.open = append(w.settled, recorded...), append(w.open, open...)
	return nil
}

func (w *acceptedWorld) HasRuns(context.Context) (bool, error) { return !w.isEmpty, nil }

func (w *acceptedWorld) Run(_ context.Context, run event.Run) (operation.LatestRun, error) {
	return w.runs[run.RunID], w.unanswered
}

func (w *acceptedWorld) RecordDeadLetter(_ context.Context, d event.DeadLetter) error {
	if err := w.refusals[d.Receipt.ID]; err != nil {
		return err
	}
	w.dead = append(w.dead, d)
	return nil
}

func newAcceptedWorld() *acceptedWorld {
	w := &acceptedWorld{
		rows: map[string]bool{"stored": true},
		runs: map[string]operation.LatestRun{
			"run-open":      {Run: event.Run{RunID: "run-open"}, Open: true},
			"run-failed":    {Run: event.Run{RunID: "run-failed"}, Status: "failed"},
			"run-duplicate": {Run: event.Run{RunID: "run-duplicate"}, Succeeded: true, Status: "completed"},
		},
		refusals: map[string]error{"again": &event.DuplicateError{}, "discarded": &event.DecisionError{}},
	}
	for _, id := range []string{"stored", "open", "failed", "duplicate", "deleted", "again", "discarded"} {
		w.kept = append(w.kept, event.Acknowledged{
			Receipt: event.Receipt{ID: id, Provider: "acme", Key: id}.ForLoss(), RunID: "run-" + id,
		})
	}
	return w
}

func (w *acceptedWorld) sweep(t *testing.T) (int, error) {
	t.Helper()
	return (&Activities{Runs: w, Kept: w, DeadLetters: w}).SweepAccepted(t.Context())
}

// Only an event whose run Temporal doesn't have becomes a dead letter, unless it came again or an operator has decided about it. An
// event whose run goes on is checked again, and those that are recorded, or are duplicates, need no receipt.
func TestOnlyADeletedRunIsALoss(t *testing.T) {
	t.Parallel()
	w := newAcceptedWorld()
	lost, err := w.sweep(t)
	require.NoError(t, err)
	require.Equal(t, 1, lost)
	require.Len(t, w.dead, 1)
	d := w.dead[0]
	require.Equal(t, "deleted", d.Receipt.ID)
	require.Equal(t, event.CodeBodyLost, d.Failure.Code)
	require.Equal(t, event.DeadLetterExhausted, d.State, "no schedule runs it")
	require.Equal(t, []string{"open", "failed"}, w.open)
	slices.Sort(w.settled)
	require.Equal(t, []string{"again", "deleted", "discarded", "duplicate", "stored"}, w.settled)
}

// A Temporal that doesn't answer, or has no run of any event, proves nothing.
func TestNothingIsALossWithoutTemporal(t *testing.T) {
	t.Parallel()
	w := newAcceptedWorld()
	w.unanswered = errors.New("unavailable")
	_, err := w.sweep(t)
	require.Error(t, err)
	require.Empty(t, w.dead)
	require.Empty(t, w.settled)

	w = newAcceptedWorld()
	w.isEmpty = true
	lost, err := w.sweep(t)
	require.NoError(t, err)
	require.Zero(t, lost)
	require.Empty(t, w.settled)
}

// A sweep asks Temporal for a limited number of runs; the next one continues.
func TestASweepAsksForALimitedNumberOfRuns(t *testing.T) {
	t.Parallel()
	w := newAcceptedWorld()
	w.runs, w.kept = map[string]operation.LatestRun{"": {Run: event.Run{RunID: "x"}, Open: true}}, nil
	for i := range 3 * acceptedRuns {
		w.kept = append(w.kept, event.Acknowledged{Receipt: event.Receipt{ID: strconv.Itoa(i), Provider: "acme"}})
	}
	_, err := w.sweep(t)
	require.NoError(t, err)
	require.Len(t, w.open, acceptedRuns)
}
