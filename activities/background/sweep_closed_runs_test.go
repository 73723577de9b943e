package background

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/activities"
	"holdfast/event"
	"holdfast/event/operation"
)

// closedRuns stands in for Temporal and the stores: an unreadable run, and a read that fails once, can't be made on demand.
type closedRuns struct {
	RunReader
	SweepStore

	runs       []operation.ClosedRun
	latest     map[string]operation.LatestRun // by workflow ID
	unreadable map[string]error               // by workflow ID

	mu       sync.Mutex
	recorded []string // event IDs
}

func (c *closedRuns) ClosedRuns(context.Context, operation.SweepPage) ([]operation.ClosedRun, []byte, error) {
	return c.runs, []byte("next"), nil
}

func (c *closedRuns) Unrecorded(_ context.Context, runs []operation.ClosedRun) ([]operation.ClosedRun, error) {
	return runs, nil
}

func (c *closedRuns) LatestRun(_ context.Context, workflowID string) (operation.LatestRun, error) {
	return c.latest[workflowID], nil
}

func (c *closedRuns) DeadLetterOf(_ context.Context, run operation.ClosedRun, _ bool) (*event.DeadLetter, error) {
	return &event.DeadLetter{Receipt: event.Receipt{ID: "of " + run.Run.WorkflowID}, Run: run.Run}, c.unreadable[run.Run.WorkflowID]
}

func (c *closedRuns) DeadLetterID(context.Context, string, string) (int64, error) { return 0, nil }

func (c *closedRuns) RecordDeadLetter(_ context.Context, d event.DeadLetter) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recorded = append(c.recorded, d.Receipt.ID)
	return nil
}

func (c *closedRuns) add(workflowID, eventID string, latest operation.LatestRun) *closedRuns {
	c.runs = append(c.runs, operation.ClosedRun{
		Run: event.Run{WorkflowID: workflowID, RunID: "ended"}, EventID: eventID, Status: "terminated",
		ClosedAt: time.Unix(int64(1000-len(c.runs)), 0),
	})
	if c.latest == nil {
		c.latest, c.unreadable = map[string]operation.LatestRun{}, map[string]error{}
	}
	c.latest[workflowID] = latest
	return c
}

func (c *closedRuns) sweep(t *testing.T, log activities.ErrorSink) operation.SweptPage {
	t.Helper()
	swept, err := (&Activities{Runs: c, Sweeps: c, DeadLetters: c, Errors: log}).
		SweepClosedRuns(t.Context(), operation.SweepPage{})
	require.NoError(t, err)
	require.Equal(t, "next", string(swept.Next))
	return swept
}

// Runs were ended from outside: each gets a dead letter if its event has no later run.
func TestAnEventIsWithALaterRunOnlyIfThatIsItsOwn(t *testing.T) {
	t.Parallel()
	later := func(eventID string) operation.LatestRun {
		return operation.LatestRun{Run: event.Run{RunID: "later"}, EventID: eventID}
	}
	c := (&closedRuns{}).
		add("latest", "of latest", operation.LatestRun{Run: event.Run{RunID: "ended"}, EventID: "of latest"}).
		add("reset", "of reset", later("of reset")).
		add("other", "of other", later("an older one of this key")).
		add("forgotten", "of forgotten", operation.LatestRun{}).
		add("nameless", "", later("")).
		add("nameless, reset", "", later("of nameless, reset"))
	require.Equal(t, 4, c.sweep(t, nil).DeadLetters)
	require.ElementsMatch(t, []string{"of latest", "of other", "of forgotten", "of nameless"}, c.recorded)
}

// The database was set back while a sweep was running, so that the sweep doesn't know that decisions may be lost:
//   - it records nothing, and looks at nothing: the next sweep compares the stores first
func TestASweepEndsWithItsDatabase(t *testing.T) {
	t.Parallel()
	c := (&closedRuns{}).add("lost", "1", operation.LatestRun{})
	seen := operation.Mark{Counter: 4, Identity: "new"}
	for _, now := range []operation.Mark{{Counter: 3, Identity: "new"}, {Counter: 4, Identity: "old"}} {
		a := &Activities{Runs: c, Sweeps: c, DeadLetters: c, Healing: marked{now: now}}
		swept, err := a.SweepClosedRuns(t.Context(), operation.SweepPage{Restored: true, Seen: seen})
		require.NoError(t, err)
		require.Zero(t, swept)
		rows, err := a.SweepUnfinished(t.Context(), operation.RowPage{Seen: seen})
		require.NoError(t, err)
		require.Zero(t, rows)
	}
	require.Empty(t, c.recorded)
	a := &Activities{Runs: c, Sweeps: c, DeadLetters: c, Healing: marked{now: seen}}
	swept, err := a.SweepClosedRuns(t.Context(), operation.SweepPage{Seen: seen})
	require.NoError(t, err)
	require.Equal(t, 1, swept.DeadLetters)
}

// marked is a database with a mark.
type marked struct {
	HealStore

	now operation.Mark
}

func (m marked) SweepMark(context.Context) (operation.Mark, error) { return m.now, nil }

// One run can't be read, and reading another one fails:
//   - the others have their dead letters
//   - the next sweep starts at the failed one, and operators get a report of the unreadable one
func TestARunInTroubleIsPassedOver(t *testing.T) {
	t.Parallel()
	c := (&closedRuns{}).add("well", "1", operation.LatestRun{}).add("unreadable", "2", operation.LatestRun{}).
		add("away", "3", operation.LatestRun{}).add("well, too", "4", operation.LatestRun{})
	c.unreadable["unreadable"] = event.Rejectf("unreadable_run", "its payload key is missing")
	c.unreadable["away"] = &event.Error{Class: event.ClassTransient, Code: "away", Err: errors.New("away")}
	log := &sink{}
	swept := c.sweep(t, log)
	require.ElementsMatch(t, []string{"of well", "of well, too"}, c.recorded)
	require.Equal(t, operation.Unswept{Skipped: 2, SkippedSince: time.Unix(998, 0)}, swept.Unswept)
	alerts := map[string]bool{}
	for _, e := range log.entries {
		alerts[e.Code] = e.Alert
	}
	require.Equal(t, map[string]bool{"unreadable_run": true, "away": false}, alerts)
}
