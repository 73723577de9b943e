package persistence_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/event/retention"
)

// A bucket of thirty is empty after thirty requests, whichever process claims them:
//   - two stores that claim at the same time get thirty together, and each learns when the next one is due
//   - time refills the bucket, up to thirty
//   - another bucket is not affected
//   - a purge removes buckets that are full
func TestStoresShareARate(t *testing.T) {
	t.Parallel()
	db := open(t)
	other := openURL(t, db.url)
	hour := func(name string, want int) event.RateClaim {
		return event.RateClaim{Name: name, Requests: 30, Per: time.Hour, Want: want}
	}
	granted := make([]int, 2)
	var g errgroup.Group
	for i, store := range []*database{db, other} {
		g.Go(func() error {
			for range 20 {
				claims := []event.RateClaim{hour("a", 1), hour("b", 1)}
				if i == 1 { // in another order, without a deadlock
					slices.Reverse(claims)
				}
				grants, err := store.Rates.TakeRates(t.Context(), claims)
				if err != nil {
					return err
				}
				granted[i] += grants[0].Granted + grants[1].Granted
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	require.Equal(t, 60, granted[0]+granted[1], "thirty of each")

	grants, err := db.Rates.TakeRates(t.Context(), []event.RateClaim{hour("c", 40), hour("a", 5)})
	require.NoError(t, err)
	require.Equal(t, 30, grants[0].Granted, "all that a full bucket has")
	require.Zero(t, grants[1].Granted)
	for _, g := range grants {
		require.InDelta(t, 2*time.Minute, g.Wait, float64(time.Minute), "an hour for thirty")
	}

	db.exec(`UPDATE rates SET full_at = full_at - interval '6 minutes' WHERE name = 'c'`)
	grants, err = db.Rates.TakeRates(t.Context(), []event.RateClaim{hour("c", 40)})
	require.NoError(t, err)
	require.Equal(t, 3, grants[0].Granted)
	db.exec(`UPDATE rates SET full_at = full_at - interval '6 days' WHERE name = 'c'`)
	grants, err = db.Rates.TakeRates(t.Context(), []event.RateClaim{hour("c", 40)})
	require.NoError(t, err)
	require.Equal(t, 30, grants[0].Granted)
	require.EqualValues(t, 3, db.purge(retention.Keys, time.Now().Add(90*time.Minute)), "all are full by then")
	require.Zero(t, value[int](db, `SELECT count(*) FROM rates`))
}

// The clock of the database goes back by ten hours: a bucket is at most empty, and has its next request when that is due.
func TestARateOutlivesAClockThatGoesBack(t *testing.T) {
	t.Parallel()
	db := open(t)
	take := func(want int) event.RateGrant {
		grants, err := db.Rates.TakeRates(t.Context(), []event.RateClaim{{Name: "a", Requests: 30, Per: time.Hour, Want: want}})
		require.NoError(t, err)
		return grants[0]
	}
	require.Equal(t, 1, take(1).Granted)
	db.exec(`UPDATE rates SET full_at = full_at + interval '10 hours'`)
	none := take(1)
	require.Zero(t, none.Granted)
	require.LessOrEqual(t, none.Wait, 2*time.Minute, "an hour for thirty")
	db.exec(`UPDATE rates SET full_at = full_at - interval '6 minutes'`)
	require.Equal(t, 3, take(40).Granted)
}

// Returned requests can be claimed again, up to a full bucket.
func TestARateReturnsRefusedRequests(t *testing.T) {
	t.Parallel()
	db := open(t)
	take := func(want int) int {
		grants, err := db.Rates.TakeRates(t.Context(), []event.RateClaim{{Name: "a", Requests: 30, Per: time.Hour, Want: want}})
		require.NoError(t, err)
		return grants[0].Granted
	}
	require.Equal(t, -5, take(-5), "none are taken yet")
	require.Equal(t, 30, take(40))
	require.Equal(t, -2, take(-2))
	require.Equal(t, 2, take(40))
}

// A changed rate takes effect, although the bucket exists:
//   - a lower one at once
//   - a higher one when no process has claimed at the lower rate for a minute
//   - a bucket of an earlier version, at the first claim
func TestAChangedRateTakesEffect(t *testing.T) {
	t.Parallel()
	db := open(t)
	claim := func(requests, want int) event.RateGrant {
		grants, err := db.Rates.TakeRates(t.Context(), []event.RateClaim{{Name: "api:stripe", Requests: requests, Per: time.Hour, Want: want}})
		require.NoError(t, err)
		return grants[0]
	}
	later := func(interval string) {
		db.exec(`UPDATE rates SET full_at = full_at - $1::text::interval, rated_at = rated_at - $1::text::interval`, interval)
	}
	require.Equal(t, 60, claim(60, 100).Granted)
	later("1 hour")
	require.Equal(t, 6, claim(6, 100).Granted, "lowered")
	require.InDelta(t, 10*time.Minute, claim(6, 1).Wait, float64(time.Minute))
	require.Zero(t, claim(60, 1).Granted)
	later("50 seconds")
	require.Zero(t, claim(60, 1).Granted, "one of the processes may still have the lower rate")
	claim(6, 1)
	later("50 seconds")
	require.Zero(t, claim(60, 1).Granted, "one of the processes has the lower rate")
	require.InDelta(t, 9*time.Minute, claim(60, 1).Wait, float64(time.Minute))
	later("11 seconds")
	require.Equal(t, 1, claim(60, 100).Granted, "raised: 111 seconds have passed, and one of 60 an hour is due each minute")
	require.InDelta(t, 9*time.Second, claim(60, 1).Wait, float64(8*time.Second))
	later("1 hour")
	require.Equal(t, 60, claim(60, 100).Granted)

	db.exec(`UPDATE rates SET requests = 1, full_at = now() + interval '1 hour', rated_at = '-infinity'`)
	later("30 minutes")
	require.Equal(t, 30, claim(60, 100).Granted)
}
