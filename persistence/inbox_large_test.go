package persistence_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// An event whose body is in the lane of large events is found with its body, by its ID and by its workflow. Lists have no bodies.
func TestALargeEventIsFoundInTheInbox(t *testing.T) {
	t.Parallel()
	d := open(t)
	r, whole := receipt(), bytes.Repeat([]byte("large "), event.MaxInline/5)
	r.Large = event.NewLargeBody(r.ID, whole)
	require.NoError(t, d.Inbox.NewInboxWriter().KeepLarge(t.Context(), r, whole, false, time.Hour))
	d.spool(event.LaneOverflow, 1)

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
