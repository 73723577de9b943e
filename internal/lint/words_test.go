package lint

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// The printed schedule is the real one: no pause after the last attempt, and each in its place.
func TestRetriesAreTheRealSchedule(t *testing.T) {
	t.Parallel()
	seconds := func(n ...int) (all []event.Duration) {
		for _, s := range n {
			all = append(all, event.Duration(time.Duration(s)*time.Second))
		}
		return all
	}
	limit := event.Duration(time.Minute)
	for want, p := range map[string]event.Policy{
		"1 attempt of 1m": {Attempts: 1, Timeout: limit, Delays: seconds(5)},
		"3 attempts of 1m each: at once, then after 5s, 10s (15s in all, ± 20 %)": {
			Attempts: 3, Timeout: limit, Delays: seconds(5, 10, 3600), Jitter: 0.2},
		"6 attempts of 1m each: at once, then after 5s, 4 × 10s (45s in all, ± 0 %)": {
			Attempts: 6, Timeout: limit, Delays: seconds(5, 10)},
		"5 attempts of 1m each: at once, then after 1s, 2s, 2 × 3s (9s in all, ± 0 %); one that takes longer fails permanently": {
			Attempts: 5, Timeout: limit, InitialInterval: seconds(1)[0], Coefficient: 2, MaximumInterval: seconds(3)[0],
			FailOnTimeout: true},
	} {
		require.Equal(t, want, retries(p))
	}
}
