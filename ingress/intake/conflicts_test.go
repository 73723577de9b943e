package intake

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/workflows/runs"
)

// A certain key belongs to an event with other content:
//   - the event is started under a key of its own, and another delivery of it is its duplicate
func TestAConflictUnderACertainKeyIsStarted(t *testing.T) {
	t.Parallel()
	c := newCommitter(t, newFakeInbox())
	commit := func(n int, fingerprint string) runs.Started {
		r := waiting(1)
		r.ID, r.Certain, r.Fingerprint = waiting(n).ID, true, fingerprint
		started, err := c.commitOne(t.Context(),
			event.Received{Receipt: r}, &request{ackDeadline: time.Now().Add(time.Minute), slots: make(chan struct{}, 1)})
		require.NoError(t, err)
		return started
	}
	first, second, again := commit(1, "sha256:a"), commit(2, "sha256:b"), commit(3, "sha256:b")
	require.Equal(t, runs.StateAccepted, second.State)
	require.NotEqual(t, first.WorkflowID, second.WorkflowID)
	require.NotNil(t, second.Conflict)
	require.Equal(t, second.WorkflowID, again.WorkflowID)
	require.Equal(t, second.EventID, again.EventID)
	require.False(t, IsNew(again.State))
	held := c.temporal.all()[second.WorkflowID]
	require.Equal(t, first.EventID, held.ConflictsWith)
}

// Two events of one key are on their way at the same time, and share a commit:
//   - the second is a conflict if it is another event, and a duplicate if it is not
func TestAConflictAmongRequestsAtTheSameTime(t *testing.T) {
	t.Parallel()
	for other, want := range map[string]bool{"sha256:a": false, "sha256:b": true, "": false} {
		synctest.Test(t, func(t *testing.T) {
			c := newCommitter(t, newFakeInbox())
			c.temporal.during = func(context.Context) { elapse(100 * time.Millisecond) }
			start := func(fingerprint string) runs.Started {
				r := waiting(1)
				r.ID, r.Fingerprint = r.ID+fingerprint, fingerprint
				started, err := c.commitOne(t.Context(),
					event.Received{Receipt: r}, &request{ackDeadline: time.Now().Add(time.Second), slots: make(chan struct{}, 1)})
				require.NoError(t, err)
				return started
			}
			first := make(chan runs.Started)
			go func() { first <- start("sha256:a") }()
			synctest.Wait()
			second := start(other)
			require.Equal(t, runs.StateAccepted, (<-first).State)
			require.Equal(t, runs.StateProcessing, second.State)
			require.Equal(t, want, second.Conflict != nil, other)
		})
	}
}
