package persistence_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/oversight"
)

func (d *database) spool(lane event.Lane, n int) (receipts []event.Receipt) {
	d.t.Helper()
	w := d.Inbox.NewInboxWriter()
	for range n {
		r := receipt()
		stored, err := w.Spool(d.t.Context(), lane, r, body, false)
		require.NoError(d.t, err)
		require.True(d.t, stored)
		receipts = append(receipts, r)
	}
	return receipts
}

// all settles every row with the same result.
func all(s event.StartOutcome, seen *[]event.Waiting) func(context.Context, []event.Waiting) []event.StartOutcome {
	return func(_ context.Context, rows []event.Waiting) []event.StartOutcome {
		*seen = append(*seen, rows...)
		return slices.Repeat([]event.StartOutcome{s}, len(rows))
	}
}

// Started events leave the inbox, oldest first and unchanged; the other lane stays.
func TestDrainReturnsSpooledEvents(t *testing.T) {
	t.Parallel()
	d := open(t)
	receipts := d.spool(event.LaneOverflow, 3)
	d.spool(event.LaneBulk, 1)
	var seen []event.Waiting
	n, err := d.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 2, all(event.StartOutcome{Started: true}, &seen))
	require.NoError(t, err)
	require.Equal(t, 2, n)
	for i, w := range seen {
		require.Equal(t, receipts[i], w.Receipt)
	}
	require.Equal(t, body, seen[0].Body)
	n, err = d.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 2, all(event.StartOutcome{Started: true}, &seen))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, "bulk", value[string](d, `SELECT string_agg(lane, ',') FROM inbox`))
}

// Two processes never claim the same row, and one that dies leaves it unchanged.
func TestDrainLocksReturnedEvents(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.spool(event.LaneOverflow, 2)
	dying, die := context.WithCancel(t.Context())
	var others []event.Waiting
	_, err := d.Inbox.DrainInbox(dying, event.LaneOverflow, 1, func(context.Context, []event.Waiting) []event.StartOutcome {
		_, err := d.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 9, all(event.StartOutcome{}, &others))
		require.NoError(t, err)
		die()
		return []event.StartOutcome{{Started: true}}
	})
	require.Error(t, err)
	require.Len(t, others, 1, "only unlocked rows")
	require.EqualValues(t, 2, value[int64](d, `SELECT count(*) FROM inbox`))
}

// An event that could not be started is postponed, with the reason.
func TestDrainPostpones(t *testing.T) {
	t.Parallel()
	d := open(t)
	receipts := d.spool(event.LaneOverflow, 1)
	var seen []event.Waiting
	later := event.StartOutcome{Error: "Temporal is away", Retry: time.Hour}
	for want := 1; want >= 0; want-- {
		n, err := d.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 9, all(later, &seen))
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
	d := open(t)
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
	d := open(t)
	r := d.spool(event.LaneOverflow, 1)[0]
	dead := event.StartOutcome{Dead: &event.Failure{
		Step: event.StepStart, Class: event.ClassRejected, Code: "not_startable", Message: "too large", Attempts: 1, At: noon,
	}}
	bury := func() {
		var seen []event.Waiting
		n, err := d.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 9, all(dead, &seen))
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	bury()
	require.Zero(t, value[int64](d, `SELECT count(*) FROM inbox`))
	require.Equal(t, body, value[[]byte](d, `SELECT raw_body FROM dead_letters WHERE event_id = $1 AND state = 'open'`, r.ID))

	again := receipt() // its redelivery
	again.Key = r.Key
	stored, err := d.Inbox.NewInboxWriter().Spool(t.Context(), event.LaneOverflow, again, body, false)
	require.NoError(t, err)
	require.True(t, stored)
	bury()
	require.Zero(t, value[int64](d, `SELECT count(*) FROM inbox`))
	require.EqualValues(t, 1, value[int64](d, `SELECT count(*) FROM dead_letters`))
}

func TestInboxDepth(t *testing.T) {
	t.Parallel()
	d := open(t)
	depths, err := d.Inbox.InboxDepth(t.Context())
	require.NoError(t, err)
	require.Empty(t, depths)
	d.spool(event.LaneOverflow, 3)
	depths, err = d.Inbox.InboxDepth(t.Context())
	require.NoError(t, err)
	require.Equal(t, event.InboxDepth{event.LaneOverflow: {Depth: 3, Oldest: noon}}, depths)
}

// An event in the inbox is found by its workflow and expunged like any other; its redelivery is a duplicate then.
func TestExpungeReachesTheInbox(t *testing.T) {
	t.Parallel()
	d := open(t)
	r := d.spool(event.LaneOverflow, 1)[0]
	id, err := d.Upkeep.EventOfWorkflow(t.Context(), r.WorkflowID())
	require.NoError(t, err)
	require.Equal(t, r.ID, id)
	ids, err := d.Upkeep.WorkflowsOf(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, []string{r.WorkflowID()}, ids)
	gone, err := d.Upkeep.Expunge(t.Context(), id, 0, oversight.Actor{Name: "ada", Reason: "asked to"})
	require.NoError(t, err)
	require.EqualValues(t, 1, gone.Waiting)
	require.Zero(t, value[int64](d, `SELECT count(*) FROM inbox`))
	require.Equal(t, r.ID, value[string](d, `SELECT event_id::text FROM idempotency_keys WHERE provider = 'acme'`))
}

// A receipt that this version can't read becomes a dead letter with its bytes, in whichever lane it is, and blocks nothing.
func TestAnUnreadableReceiptBecomesADeadLetter(t *testing.T) {
	t.Parallel()
	newer := []byte(`{"id":{"v":8},"headers":["a","b"]}`)
	for name, unread := range map[string][]byte{
		"a newer one": newer, "no JSON": []byte("\x00\xff"), "empty": {}, "of nobody": []byte(`{}`), "null": []byte(`null`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			first := d.spool(event.LaneBulk, 1)[0]
			second := d.spool(event.LaneOverflow, 1)[0]
			d.exec(`UPDATE inbox SET receipt = $1`, unread)
			good := d.spool(event.LaneOverflow, 5)

			page, err := d.Inbox.Inbox(t.Context(), event.InboxQuery{})
			require.NoError(t, err)
			require.Len(t, page, 7)
			require.Equal(t, "this version cannot read the receipt in the inbox", page[0].LastError)
			require.Equal(t, []string{first.ID, first.Provider, first.Key},
				[]string{page[0].Receipt.ID, page[0].Receipt.Provider, page[0].Receipt.Key})

			b := d.batch(newBatchRun(), nil)
			require.Len(t, b, 1)
			require.Equal(t, "malformed_receipt", event.CodeOf(b[0].Reason))
			require.Equal(t, first.ID, b[0].Receipt.ID)
			var seen []event.Waiting
			n, err := d.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 9, all(event.StartOutcome{Started: true}, &seen))
			require.NoError(t, err)
			require.Equal(t, 7, n)
			require.Len(t, seen, len(good))
			require.Zero(t, value[int](d, `SELECT count(*) FROM inbox`))

			for _, r := range []event.Receipt{first, second} {
				letter, err := d.DeadLetters.DeadLetterOfEvent(t.Context(), r.ID)
				require.NoError(t, err)
				require.Equal(t, event.DeadLetterOpen, letter.State)
				require.Equal(t, "malformed_receipt", letter.Failure.Code)
				require.Equal(t, body, letter.Body)
				require.Equal(t, r.WorkflowID(), letter.Run.WorkflowID)
				require.Equal(t, unread, value[[]byte](d, `SELECT unread_receipt FROM dead_letters WHERE event_id = $1`, r.ID))
				d.process(letter.Receipt, parsed()) // its replay
			}
			require.Zero(t, value[int](d, `SELECT count(*) FROM dead_letters WHERE state = 'open'`))
		})
	}
}

// If Temporal goes down while a page is drained, the rows that weren't tried stay due. The body of a large event is removed once
// the event, or the one that it repeats, is stored, and not before.
func TestDrainKeepsLargeBodies(t *testing.T) {
	t.Parallel()
	d := open(t)
	owner := receipt()
	r := receipt()
	r.Large = event.NewLargeBody(r.ID, body)
	_, err := d.Inbox.NewInboxWriter().KeepLarge(t.Context(), r, body, false, 0)
	require.NoError(t, err)
	drain := func(s event.StartOutcome) (n int) {
		var seen []event.Waiting
		n, err := d.Inbox.DrainInbox(t.Context(), event.LaneLarge, 9, all(s, &seen))
		require.NoError(t, err)
		return n
	}
	require.Equal(t, 1, drain(event.StartOutcome{}))
	require.Equal(t, 1, drain(event.StartOutcome{}), "it is still due")
	require.Zero(t, value[int](d, `SELECT attempts FROM inbox`))
	require.Equal(t, 1, drain(event.StartOutcome{Error: "x", Retry: time.Nanosecond, Owner: owner.ID}))
	d.process(owner, parsed())
	require.Equal(t, 1, drain(event.StartOutcome{Error: "x", Retry: time.Hour}), "nothing says that it repeats the other")
	require.Zero(t, drain(event.StartOutcome{}))
	d.exec(`UPDATE inbox SET due_at = now()`)
	require.Equal(t, 1, drain(event.StartOutcome{Error: "x", Retry: time.Hour, Owner: owner.ID}))
	require.Zero(t, value[int](d, `SELECT count(*) FROM inbox`))
}
