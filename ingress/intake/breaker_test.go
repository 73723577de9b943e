package intake

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/workflows/runs"
)

// Temporal goes down and comes back:
//   - only consecutive failures count, and neither refusals nor duplicates are failures
//   - while it counts as down, nothing is started, from requests or the inbox
//   - a second later one start is let through as a probe
//   - once that succeeds, and not before, the drain is woken
func TestABreakerWakesTheDrainOnceTemporalIsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBreaker(8)
		start := func(err error) *permit {
			p, reason := b.admit(t.Context(), time.Time{}, false)
			require.Equal(t, started, reason)
			p.end(err)
			return p
		}
		for range tripAfter - 1 {
			start(errAway)
		}
		start(nil)
		for range tripAfter {
			start(&runs.IDTakenError{})
		}
		for range tripAfter - 1 {
			start(errAway)
		}
		require.False(t, b.isDown())
		require.False(t, start(errAway).probe)
		require.True(t, b.isDown())
		require.Empty(t, b.wakes)

		_, reason := b.admit(t.Context(), time.Time{}, true)
		require.Equal(t, down, reason)
		require.Nil(t, b.admitFromInbox())
		require.Zero(t, b.capacity(time.Hour))
		require.Zero(t, b.liveStarts+b.inboxStarts, "what was not started isn't under way")

		<-time.After(breakerPause + 1)
		require.Equal(t, 1, b.capacity(time.Hour))
		probe := b.admitFromInbox()
		require.True(t, probe.probe)
		_, reason = b.admit(t.Context(), time.Time{}, false)
		require.Equal(t, down, reason, "one is enough")
		probe.end(errors.New("still away"))
		require.Zero(t, b.capacity(0))
		require.Empty(t, b.wakes)

		<-time.After(breakerPause + 1)
		b.admitFromInbox().end(nil)
		require.False(t, b.isDown())
		require.Len(t, b.wakes, 1)
		require.Positive(t, b.capacity(0))
	})
}

// A start that isn't confirmed in time is a failure only if no other one was confirmed meanwhile: otherwise Temporal is busy
// rather than stuck. It counts once, however it ends.
func TestALateStartIsAFailureOnlyWhereTemporalIsStuck(t *testing.T) {
	t.Parallel()
	for name, confirms := range map[string]bool{"stuck": false, "busy": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := NewBreaker(2 * tripAfter)
				var late []*permit
				for range tripAfter {
					p, _ := b.admit(t.Context(), time.Time{}, false)
					late = append(late, p)
				}
				<-time.After(time.Millisecond)
				if confirms {
					p, _ := b.admit(t.Context(), time.Time{}, false)
					p.end(nil)
				}
				for _, p := range late {
					p.reportLate()
				}
				require.Equal(t, !confirms, b.isDown())
				for _, p := range late {
					p.end(nil)
				}
				require.Equal(t, !confirms, b.isDown(), "what ends late has been counted")
				require.Zero(t, b.liveStarts)
			})
		})
	}
}
