package process

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A sweep follows each change of the server, once, as soon as Temporal takes it.
func TestASweepFollowsAFailover(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var now string
		var down, refused error
		sweeps := 0
		go sweepAfterFailover(ctx, func(context.Context) (string, error) { return now, down }, func(context.Context) error {
			if refused == nil {
				sweeps++
			}
			return refused
		})
		for _, step := range []struct {
			what          string
			now           string
			down, refused error
			sweeps        int
		}{
			{"the first server", "a/1", nil, nil, 0},
			{"the same one", "a/1", nil, nil, 0},
			{"it is down", "", errors.New("refused"), nil, 0},
			{"it is back", "a/1", nil, nil, 0},
			{"its standby was promoted, and Temporal is down", "a/2", nil, errors.New("unavailable"), 0},
			{"Temporal is back", "a/2", nil, nil, 1},
			{"nothing more", "a/2", nil, nil, 1},
			{"another server", "b/1", nil, nil, 2},
		} {
			now, down, refused = step.now, step.down, step.refused
			<-time.After(serverPause)
			synctest.Wait()
			require.Equal(t, step.sweeps, sweeps, step.what)
		}
	})
}
