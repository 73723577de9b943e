package process

import (
	"context"
	"errors"
	"sync"
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
		var mu sync.Mutex
		var now string
		var down, refused error
		sweeps := 0
		server := func(context.Context) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			return now, down
		}
		go sweepAfterFailover(ctx, server, func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
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
			mu.Lock()
			now, down, refused = step.now, step.down, step.refused
			mu.Unlock()
			<-time.After(serverPause)
			synctest.Wait()
			mu.Lock()
			require.Equal(t, step.sweeps, sweeps, step.what)
			mu.Unlock()
		}
	})
}
