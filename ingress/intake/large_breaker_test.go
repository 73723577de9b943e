package intake

import (
	"context"
	"testing"
	"time"

	"github.com/sony/gobreaker/v2"
	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// onlySmall is an inbox to which large bodies don't get in time.
type onlySmall struct{ spoolerFunc }

func (onlySmall) KeepLarge(context.Context, event.Receipt, []byte, bool, time.Duration) (bool, error) {
	return false, context.DeadlineExceeded
}

// Large bodies that the inbox can't commit in time stop only further large ones: others are still committed.
func TestLargeBodiesDoNotOpenTheBreakerOfOthers(t *testing.T) {
	t.Parallel()
	b := newInbox(onlySmall{func() (bool, error) { return true, nil }})
	for range tripAfter {
		require.ErrorIs(t, b.keepLarge(t.Context(), event.Received{}), context.DeadlineExceeded)
	}
	require.ErrorIs(t, b.keepLarge(t.Context(), event.Received{}), gobreaker.ErrOpenState)
	require.False(t, b.isDown())
	spooled, err := b.spool(t.Context(), event.LaneOverflow, event.Received{Receipt: event.Receipt{ID: "e"}})
	require.NoError(t, err)
	require.Equal(t, StateSpooled, spooled.State)
}
