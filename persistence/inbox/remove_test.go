package inbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence/persistencetest"
)

func forget(d *persistencetest.Database, receipts ...event.Receipt) (providers []string) {
	d.T.Helper()
	var workflowIDs, ids []string
	for _, r := range receipts {
		workflowIDs, ids = append(workflowIDs, r.WorkflowID()), append(ids, r.ID)
	}
	providers, err := d.Inbox.RemoveFromInbox(d.T.Context(), workflowIDs, ids)
	require.NoError(d.T, err)
	return providers
}

// Named events leave the inbox, and nothing else does: not another event of the same key, nor an event that was not named.
func TestForgetRemovesNamedEvents(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	receipts := d.Spool(event.LaneOverflow, 4)
	redelivery := receipt()
	redelivery.Key = receipts[2].Key
	require.Equal(t, []string{"acme", "acme"}, forget(d, receipts[0], receipts[1], redelivery, receipt()))
	require.Empty(t, forget(d, receipts[0], redelivery))
	var left []event.Waiting
	_, err := d.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 9, persistencetest.SettleAll(event.StartOutcome{}, &left))
	require.NoError(t, err)
	require.Len(t, left, 2)
	require.Equal(t, receipts[2], left[0].Receipt)
	require.Equal(t, receipts[3], left[1].Receipt)
}

// Of two events of one workflow, each in its own dedupe window, only the named one is removed.
func TestForgetLeavesTheOtherWindowOfAKey(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	first := receipt()
	first.DedupeWindow = event.Duration(15 * time.Minute)
	second := sameKey(first, 20*time.Minute)
	for _, r := range []event.Receipt{first, second} {
		stored, err := d.Inbox.NewInboxWriter().Spool(t.Context(), event.LaneOverflow, r, body, false)
		require.NoError(t, err)
		require.True(t, stored)
	}
	require.Equal(t, []string{"acme"}, forget(d, first))
	require.Equal(t, second.ID, persistencetest.Value[string](d, `SELECT event_id::text FROM inbox`))
}

// Rows claimed by a drain are left to it, and the removal doesn't wait.
func TestForgetSkipsEventsInADrain(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	receipts := d.Spool(event.LaneOverflow, 2)
	_, err := d.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 1, func(context.Context, []event.Waiting) []event.StartOutcome {
		require.Len(t, forget(d, receipts...), 1)
		return []event.StartOutcome{{Error: "Temporal is away", Retry: time.Hour}}
	})
	require.NoError(t, err)
	w, err := d.Inbox.WaitingEvent(t.Context(), receipts[0].ID)
	require.NoError(t, err)
	require.Equal(t, 1, w.Attempts)
	require.Len(t, forget(d, receipts...), 1)
}

// An event that is being started is not drained yet.
func TestSpoolLateKeepsTheDrainAway(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	r := receipt()
	stored, err := d.Inbox.NewInboxWriter().SpoolLate(t.Context(), r, body, true, time.Hour)
	require.NoError(t, err)
	require.True(t, stored)
	var seen []event.Waiting
	n, err := d.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 9, persistencetest.SettleAll(event.StartOutcome{Started: true}, &seen))
	require.NoError(t, err)
	require.Zero(t, n)
	w, err := d.Inbox.WaitingEvent(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, r, w.Receipt)
	require.True(t, w.RejectRedelivery)
	require.WithinDuration(t, time.Now().Add(time.Hour), w.DueAt, time.Minute)
	d.Exec(`UPDATE inbox SET due_at = now()`)
	n, err = d.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 9, persistencetest.SettleAll(event.StartOutcome{Started: true}, &seen))
	require.NoError(t, err)
	require.Equal(t, 1, n)
}
