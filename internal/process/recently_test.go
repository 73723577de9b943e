package process

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// However often metrics are collected, a slow value is read once per age, and collecting doesn't wait for it.
func TestAFigureIsReadOnceInItsAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		read := recently(time.Minute, func(context.Context) (int, error) {
			reads++
			return reads, nil
		})
		for range 100 {
			_, err := read()
			require.NoError(t, err)
			synctest.Wait()
		}
		require.Equal(t, 1, reads)
		<-time.After(time.Minute) // in the bubble's time
		last, err := read()
		require.NoError(t, err)
		require.Equal(t, 1, last, "what was read last is given at once")
		synctest.Wait()
		require.Equal(t, 2, reads)
	})
}
