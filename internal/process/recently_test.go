package process

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// However often metrics are collected, a figure that takes long to read is read once in its age, and nobody waits for it.
func TestAFigureIsReadOnceInItsAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		look := recently(time.Minute, func(context.Context) (int, error) {
			reads++
			return reads, nil
		})
		for range 100 {
			_, err := look()
			require.NoError(t, err)
			synctest.Wait()
		}
		require.Equal(t, 1, reads)
		<-time.After(time.Minute) // of the bubble
		last, err := look()
		require.NoError(t, err)
		require.Equal(t, 1, last, "what was read last is given at once")
		synctest.Wait()
		require.Equal(t, 2, reads)
	})
}
