package intake

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/workflows/runs"
)

func newBoth(t *testing.T) (*committer, *fakeInbox) {
	t.Helper()
	table := newFakeInbox()
	c := newCommitter(t, table)
	c.Both = true
	return c, table
}

// An event is acknowledged once both stores have it, under one event ID.
func TestBothStoresHaveTheEvent(t *testing.T) {
	t.Parallel()
	c, table := newBoth(t)
	started, _, err := c.send(t)
	require.NoError(t, err)
	require.Equal(t, runs.StateAccepted, started.State)
	require.Len(t, table.rows, 1)
	require.Equal(t, event.LaneCopy, table.rows[0].Lane)
	require.Equal(t, started.EventID, table.rows[0].Receipt.ID)
	require.True(t, c.temporal.all()[started.WorkflowID].Copied, "the run removes the copy")
}

// Without Temporal nothing is acknowledged, and the database gets nothing.
func TestBothStoresNeedTemporal(t *testing.T) {
	t.Parallel()
	c, table := newBoth(t)
	c.temporal.before = func(event.Receipt) error { return errors.New("unavailable") }
	for range tripAfter + 1 { // the last one meets an open breaker
		_, _, err := c.send(t)
		require.Error(t, err)
	}
	require.Empty(t, table.rows)
}

// Without the database nothing is acknowledged, although Temporal has the event; the sender's next request completes it, with
// the event ID of the run.
func TestBothStoresNeedTheDatabase(t *testing.T) {
	t.Parallel()
	c, table := newBoth(t)
	table.refuse = errors.New("connection refused")
	_, _, err := c.send(t)
	require.Error(t, err)
	require.Len(t, c.temporal.all(), 1)

	table.refuse = nil
	first := c.temporal.all()[waiting(1).WorkflowID()]
	c.temporal.processing = true
	again := waiting(1)
	again.ID = "another"
	started, err := c.commitShared(t.Context(), event.Received{Receipt: again}, &request{slots: make(chan struct{}, 1)})
	require.NoError(t, err)
	require.Equal(t, runs.StateProcessing, started.State)
	require.Len(t, table.rows, 1)
	require.Equal(t, first.ID, table.rows[0].Receipt.ID)
}

// A conflict with an event in the inbox says nothing about the database, so the breaker stays closed.
func TestAConflictOfACopyOpensNoBreaker(t *testing.T) {
	t.Parallel()
	c, table := newBoth(t)
	table.refuse = &event.ConflictError{}
	for range tripAfter + 1 {
		_, _, err := c.send(t)
		require.ErrorAs(t, err, new(*event.ConflictError))
	}
	table.refuse = nil
	_, _, err := c.send(t)
	require.NoError(t, err)
}

// A run that has ended has left its event in the database, so a redelivery needs no copy.
func TestAnEndedRunNeedsNoCopy(t *testing.T) {
	t.Parallel()
	c, table := newBoth(t)
	for range 2 {
		c.next = 0
		_, _, err := c.send(t)
		require.NoError(t, err)
	}
	require.Len(t, table.rows, 1)
}

// An event that Temporal can never accept becomes a dead letter, as otherwise.
func TestTheDrainMakesADeadLetterOfAnUnstartableEvent(t *testing.T) {
	t.Parallel()
	c, table := newBoth(t)
	c.temporal.before = func(event.Receipt) error { return runs.ErrTooLarge }
	started, _, err := c.send(t)
	require.NoError(t, err)
	require.Equal(t, StateSpooled, started.State)
	require.Equal(t, event.LaneOverflow, table.rows[0].Lane)
}

// The drain starts the event of a copy whose run Temporal has lost. The copy stays until the event is stored, and goes once its
// run has ended.
func TestACopyStartsALostRunAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, table := newBoth(t)
		started, _, err := c.send(t)
		require.NoError(t, err)
		d := NewDrain(table, c.temporal, nil, c.Breaker, time.Second)
		elapse(copyPause(0))
		c.temporal.processing = true
		d.round(t.Context())
		require.Equal(t, 1, table.depth(), "it isn't stored yet")

		clear(c.temporal.started)
		c.temporal.processing = false
		d.round(t.Context())
		require.Empty(t, c.temporal.all(), "it is not due")
		elapse(copyPause(1))
		d.round(t.Context())
		require.Equal(t, started.EventID, c.temporal.all()[started.WorkflowID].ID)
		require.Equal(t, 1, table.depth(), "its new run can't have removed it")

		elapse(minCopyPause)
		d.round(t.Context())
		require.Zero(t, table.depth())
	})
}

// A request that stops waiting doesn't get a 2xx.
func TestBothStoresKeepToTheTimeOfTheRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, table := newBoth(t)
		c.temporal.during = func(context.Context) { elapse(time.Hour) }
		_, took, err := c.send(t)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, c.CommitTimeout, took)
		require.Empty(t, table.rows)
		elapse(2 * time.Hour)
	})
}

func TestACopyIsLookedAtLessAndLess(t *testing.T) {
	t.Parallel()
	for attempts, want := range map[int]time.Duration{
		0: time.Minute, 1: 4 * time.Minute, 2: 16 * time.Minute, 3: time.Hour, 1000: time.Hour,
	} {
		require.Equal(t, want, copyPause(attempts), attempts)
	}
}
