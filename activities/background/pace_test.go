package background

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Starts keep their average rate, however long a start takes:
//   - the time that a start has taken is made up for
//   - after a slow start there is no burst of missed ones: its own interval is over, and only one more is made up for
func TestAPaceMakesUpForOneIntervalOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, began := newPace(10), time.Now()
		require.NoError(t, p.wait(t.Context()))
		require.Equal(t, 100*time.Millisecond, time.Since(began))

		<-time.After(60 * time.Millisecond) // the time that the start has taken
		require.NoError(t, p.wait(t.Context()))
		require.Equal(t, 200*time.Millisecond, time.Since(began), "made up for")

		<-time.After(time.Minute)
		slow := time.Now()
		for range 5 {
			require.NoError(t, p.wait(t.Context()))
		}
		require.Equal(t, 300*time.Millisecond, time.Since(slow), "two at once, three that keep to the rate")
	})
}

// Pages keep the rate of their items, and make up for one page at most.
func TestAPaceOfPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, began := newPace(10), time.Now()
		require.NoError(t, p.waitFor(t.Context(), 50))
		require.Equal(t, 5*time.Second, time.Since(began))
		<-time.After(time.Minute)
		slow := time.Now()
		for range 3 {
			require.NoError(t, p.waitFor(t.Context(), 50))
		}
		require.Equal(t, 5*time.Second, time.Since(slow))
	})
}
