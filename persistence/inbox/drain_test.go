package inbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/persistencetest"
)

// Started events leave the inbox, oldest first and unchanged; the other lane stays.
func TestDrainReturnsSpooledEvents(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	receipts := d.Spool(event.LaneOverflow, 3)
	d.Spool(event.LaneBulk, 1)
	var seen []event.Waiting
	n, err := d.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 2, persistencetest.SettleAll(event.StartOutcome{Started: true}, &seen))
	require.NoError(t, err)
	require.Equal(t, 2, n)
	for i, w := range seen {
		require.Equal(t, receipts[i], w.Receipt)
	}
	require.Equal(t, body, seen[0].Body)
	n, err = d.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 2, persistencetest.SettleAll(event.StartOutcome{Started: true}, &seen))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, "bulk", persistencetest.Value[string](d, `SELECT string_agg(lane, ',') FROM inbox`))
}

// Two processes never claim the same row, and one that dies leaves it unchanged.
func TestDrainLocksReturnedEvents(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	d.Spool(event.LaneOverflow, 2)
	dying, die := context.WithCancel(t.Context())
	var others []event.Waiting
	_, err := d.Inbox.DrainInbox(dying, event.LaneOverflow, 1, func(context.Context, []event.Waiting) []event.StartOutcome {
		_, err := d.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 9, persistencetest.SettleAll(event.StartOutcome{}, &others))
		require.NoError(t, err)
		die()
		return []event.StartOutcome{{Started: true}}
	})
	require.Error(t, err)
	require.Len(t, others, 1, "only unlocked rows")
	require.EqualValues(t, 2, persistencetest.Value[int64](d, `SELECT count(*) FROM inbox`))
}

// An event that could not be started is postponed, with the reason.
func TestDrainPostpones(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	receipts := d.Spool(event.LaneOverflow, 1)
	var seen []event.Waiting
	later := event.StartOutcome{Error: "Temporal is away", Retry: time.Hour}
	for want := 1; want >= 0; want-- {
		n, err := d.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 9, persistencetest.SettleAll(later, &seen))
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	w, err := d.Inbox.WaitingByWorkflow(t.Context(), receipts[0].WorkflowID())
	require.NoError(t, err)
	require.Equal(t, 1, w.Attempts)
	require.Equal(t, "Temporal is away", w.LastError)
	require.WithinDuration(t, time.Now().Add(time.Hour), w.DueAt, time.Minute)

	w, err = d.Inbox.WaitingEvent(t.Context(), receipts[0].ID)
	require.NoError(t, err)
	require.Equal(t, receipts[0], w.Receipt)
	page, err := d.Inbox.Inbox(t.Context(), event.InboxQuery{Provider: "acme", Lane: event.LaneOverflow})
	require.NoError(t, err)
	require.Len(t, page, 1)
	page, err = d.Inbox.Inbox(t.Context(), event.InboxQuery{After: page[0].Seq})
	require.NoError(t, err)
	require.Empty(t, page)
	_, err = d.Inbox.WaitingEvent(t.Context(), receipt().ID)
	require.ErrorIs(t, err, event.ErrNotFound)
}

// Events in the inbox can be listed by source, whatever characters it has; the name of a header doesn't match.
func TestInboxOfASource(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	w := d.Inbox.NewInboxWriter()
	for _, source := range []string{"", "shop-a", "shop-ab", `<"ünïcode" & \ % _>`} {
		r := receipt()
		r.Source, r.Headers = source, map[string]string{"source": "shop-a"}
		_, err := w.Spool(t.Context(), event.LaneOverflow, r, body, false)
		require.NoError(t, err)
	}
	for _, source := range []string{"shop-a", "shop-ab", `<"ünïcode" & \ % _>`} {
		page, err := d.Inbox.Inbox(t.Context(), event.InboxQuery{Provider: "acme", Source: source})
		require.NoError(t, err)
		require.Len(t, page, 1, source)
		require.Equal(t, source, page[0].Receipt.Source)
	}
	page, err := d.Inbox.Inbox(t.Context(), event.InboxQuery{Provider: "another", Source: "shop-a"})
	require.NoError(t, err)
	require.Empty(t, page)
}

// An event that Temporal never accepts becomes a dead letter with its bytes, unless it is a duplicate, and then leaves the inbox.
func TestDrainBuries(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	r := d.Spool(event.LaneOverflow, 1)[0]
	dead := event.StartOutcome{Dead: &event.Failure{
		Step: event.StepStart, Class: event.ClassRejected, Code: "not_startable", Message: "too large", Attempts: 1, At: noon,
	}}
	bury := func() {
		var seen []event.Waiting
		n, err := d.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 9, persistencetest.SettleAll(dead, &seen))
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	bury()
	require.Zero(t, persistencetest.Value[int64](d, `SELECT count(*) FROM inbox`))
	require.Equal(t, body, persistencetest.Value[[]byte](d, `SELECT raw_body FROM dead_letters WHERE event_id = $1 AND state = 'open'`, r.ID))

	again := receipt() // its redelivery
	again.Key = r.Key
	stored, err := d.Inbox.NewInboxWriter().Spool(t.Context(), event.LaneOverflow, again, body, false)
	require.NoError(t, err)
	require.True(t, stored)
	bury()
	require.Zero(t, persistencetest.Value[int64](d, `SELECT count(*) FROM inbox`))
	require.EqualValues(t, 1, persistencetest.Value[int64](d, `SELECT count(*) FROM dead_letters`))
}

func TestInboxDepth(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	depths, err := d.Inbox.InboxDepth(t.Context())
	require.NoError(t, err)
	require.Empty(t, depths)
	d.Spool(event.LaneOverflow, 3)
	depths, err = d.Inbox.InboxDepth(t.Context())
	require.NoError(t, err)
	require.Equal(t, event.InboxDepth{event.LaneOverflow: {Depth: 3, Oldest: noon}}, depths)
}

// An event in the inbox is found by its workflow and expunged like any other; its redelivery is a duplicate then.
func TestExpungeReachesTheInbox(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	r := d.Spool(event.LaneOverflow, 1)[0]
	id, err := d.Upkeep.EventOfWorkflow(t.Context(), r.WorkflowID())
	require.NoError(t, err)
	require.Equal(t, r.ID, id)
	ids, err := d.Upkeep.WorkflowsOf(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, []string{r.WorkflowID()}, ids)
	gone, err := d.Upkeep.Expunge(t.Context(), id, 0, oversight.Actor{Name: "ada", Reason: "asked to"})
	require.NoError(t, err)
	require.EqualValues(t, 1, gone.Waiting)
	require.Zero(t, persistencetest.Value[int64](d, `SELECT count(*) FROM inbox`))
	require.Equal(t, r.ID, persistencetest.Value[string](d, `SELECT event_id::text FROM idempotency_keys WHERE provider = 'acme'`))
}

// If Temporal goes down while a page is drained, the rows that weren't tried stay due. The body of a large event is removed once
// the event, or the one that it repeats, is stored, and not before.
func TestDrainKeepsLargeBodies(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	owner := receipt()
	r := receipt()
	r.Large = event.NewLargeBody(r.ID, body)
	_, err := d.Inbox.NewInboxWriter().KeepLarge(t.Context(), r, body, false, 0)
	require.NoError(t, err)
	drain := func(s event.StartOutcome) (n int) {
		var seen []event.Waiting
		n, err := d.Inbox.DrainInbox(t.Context(), event.LaneLarge, 9, persistencetest.SettleAll(s, &seen))
		require.NoError(t, err)
		return n
	}
	require.Equal(t, 1, drain(event.StartOutcome{}))
	require.Equal(t, 1, drain(event.StartOutcome{}), "it is still due")
	require.Zero(t, persistencetest.Value[int](d, `SELECT attempts FROM inbox`))
	require.Equal(t, 1, drain(event.StartOutcome{Error: "x", Retry: time.Nanosecond, Owner: owner.ID}))
	d.Process(owner, parsed())
	require.Equal(t, 1, drain(event.StartOutcome{Error: "x", Retry: time.Hour}), "nothing says that it repeats the other")
	require.Zero(t, drain(event.StartOutcome{}))
	d.Exec(`UPDATE inbox SET due_at = now()`)
	require.Equal(t, 1, drain(event.StartOutcome{Error: "x", Retry: time.Hour, Owner: owner.ID}))
	require.Zero(t, persistencetest.Value[int](d, `SELECT count(*) FROM inbox`))
}
