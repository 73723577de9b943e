package inbox_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/persistencetest"
)

// An event whose body is in the lane of large events is found with its body, by its ID and by its workflow. Lists have no bodies.
func TestALargeEventIsFoundInTheInbox(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	r, whole := receipt(), bytes.Repeat([]byte("large "), event.MaxInline/5)
	r.Large = event.NewLargeBody(r.ID, whole)
	_, err := d.Inbox.NewInboxWriter().KeepLarge(t.Context(), r, whole, false, time.Hour)
	require.NoError(t, err)
	d.Spool(event.LaneOverflow, 1)

	w, err := d.Inbox.WaitingEvent(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, event.LaneLarge, w.Lane)
	require.True(t, r.Large.Is(w.Body))

	w, err = d.Inbox.WaitingByWorkflow(t.Context(), r.WorkflowID())
	require.NoError(t, err)
	require.Equal(t, r.ID, w.Receipt.ID)
	_, err = d.Inbox.WaitingByWorkflow(t.Context(), receipt().WorkflowID())
	require.ErrorIs(t, err, event.ErrNotFound)

	page, err := d.Inbox.Inbox(t.Context(), event.InboxQuery{Limit: 9})
	require.NoError(t, err)
	require.Len(t, page, 2)
	for _, w := range page {
		require.Empty(t, w.Body)
	}
}

// The body of a large event is kept once: a repeated call leaves the first one, which a run may be reading.
func TestALargeBodyIsKeptOnce(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	r, w := receipt(), d.Inbox.NewInboxWriter()
	for i, body := range []string{"first", "second"} {
		r.Large = event.NewLargeBody(r.ID, []byte(body))
		stored, err := w.KeepLarge(t.Context(), r, []byte(body), false, time.Hour)
		require.NoError(t, err)
		require.Equal(t, i == 0, stored)
	}
	require.Equal(t, "first", string(persistencetest.Value[[]byte](d, `SELECT raw_body FROM inbox`)))
}

// Missed events are read by their bytes, at least one at a time.
func TestMissedEventsAreReadByBytes(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	d.Exec(`INSERT INTO recovery_items (recovery_id, workflow_id, at, event_id, lane, receipt, body)
		SELECT 'r', 'acme:' || n, now() + n * interval '1 second', $1, '', '{}', convert_to(repeat('x', size * 1024), 'UTF8')
		  FROM unnest('{17000,1,8000,8000,8000}'::int[]) WITH ORDINALITY AS i (size, n)`, receipt().ID)
	for _, want := range []int{1, 3, 1, 0} {
		items, err := d.Recoveries.Next(t.Context(), "r", 10)
		require.NoError(t, err)
		require.Len(t, items, want)
		d.Exec(`DELETE FROM recovery_items WHERE workflow_id IN (SELECT workflow_id FROM recovery_items ORDER BY at LIMIT $1)`, want)
	}
}

// PostgreSQL was set back to before a large event, and its run has failed:
//   - the dead letter says that the body is lost, and why the event failed before
//   - once the provider has sent the body again, a further failure is what it is
//   - an event that is replayed anyway keeps its code
func TestADeadLetterSaysThatItsBodyIsLost(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	r, whole := receipt(), bytes.Repeat([]byte("large "), event.MaxInline/5)
	r.Large = event.NewLargeBody(r.ID, whole)
	letter := deadLetter(r)
	letter.Body = nil
	d.Record(letter)
	f := d.DeadLetterOf(r).Failure
	require.Equal(t, []string{event.CodeBodyLost, string(event.ClassRejected)}, []string{f.Code, string(f.Class)})
	require.Contains(t, f.Message, "ask the provider to send the event again")
	require.Contains(t, f.Message, "its failure was not JSON")

	_, err := d.Inbox.NewInboxWriter().KeepLarge(t.Context(), r, whole, false, time.Hour)
	require.NoError(t, err)
	letter = died(r, noon.Add(time.Hour))
	letter.Body = nil
	d.Record(letter)
	found := d.DeadLetterOf(r)
	require.Equal(t, letter.Failure, found.Failure)
	require.True(t, r.Large.Is(found.Body))

	lost := receipt()
	lost.Large = event.NewLargeBody(lost.ID, whole)
	letter = deadLetter(lost)
	letter.Body, letter.Failure.Code = nil, operation.CodeLost
	d.Record(letter)
	require.Equal(t, letter.Failure, d.DeadLetterOf(lost).Failure)
}
