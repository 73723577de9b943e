package intake

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// A store is as healthy as its last event. Without a recent one it is tried, at most once in five seconds and once at a time,
// however often it is asked for.
func TestHealthFollowsTheLastCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int32
		var failure atomic.Value
		p := NewCommitProbe(func(context.Context) error {
			tries.Add(1)
			err, _ := failure.Load().(error)
			return err
		})
		_, err := p.Starting(newFakeStarter()).Start(t.Context(), event.Receipt{ID: "1", Key: "a"}, nil, false)
		require.NoError(t, err)
		for range 9 {
			require.NoError(t, p.Probe(t.Context()))
			elapse(time.Second)
		}
		require.Zero(t, tries.Load(), "a real event shows it")

		failure.Store(errors.New("read-only"))
		elapse(2 * time.Second)
		var asked sync.WaitGroup
		for range 50 {
			asked.Go(func() {
				if p.Probe(t.Context()) == nil {
					t.Error("it can't commit")
				}
			})
		}
		asked.Wait()
		require.EqualValues(t, 1, tries.Load())
		elapse(tryPause - time.Millisecond)
		require.ErrorContains(t, p.Probe(t.Context()), "read-only")
		require.EqualValues(t, 1, tries.Load())
		elapse(time.Second)
		require.Error(t, p.Probe(t.Context()))
		require.EqualValues(t, 2, tries.Load())

		inbox := p.Spooling(newFakeInbox())
		_, err = inbox.Spool(t.Context(), event.LaneOverflow, event.Receipt{ID: "2", Key: "b"}, nil, false)
		require.NoError(t, err)
		require.NoError(t, p.Probe(t.Context()))
		require.EqualValues(t, 2, tries.Load())
	})
}

// A store that doesn't answer delays no caller for longer than a try may take.
func TestAStoreThatIsSilentCannotCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewCommitProbe(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		begin := time.Now()
		require.ErrorIs(t, p.Probe(t.Context()), context.DeadlineExceeded)
		require.Equal(t, tryTimeout, time.Since(begin))
		ctx, cancel := context.WithCancel(t.Context())
		elapse(tryPause)
		cancel()
		require.ErrorIs(t, p.Probe(ctx), context.Canceled)
		elapse(tryTimeout)
	})
}
