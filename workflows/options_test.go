package workflows

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast/event"
)

// A pause follows the policy, spread by its jitter and by no more, and is the same every time it is computed.
func TestDelayFollowsThePolicy(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := event.Policy{
			InitialInterval: event.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "initial")),
			Coefficient:     rapid.Float64Range(0, 4).Draw(t, "coefficient"),
			MaximumInterval: event.Duration(rapid.Int64Range(int64(time.Hour), int64(24*time.Hour)).Draw(t, "maximum")),
			Jitter:          rapid.Float64Range(0, 1).Draw(t, "jitter"),
		}
		n := rapid.IntRange(1, 200).Draw(t, "n")
		id := rapid.String().Draw(t, "id")
		got := delay(p, n, id)
		require.Equal(t, got, delay(p, n, id))
		require.GreaterOrEqual(t, got, time.Duration(0))
		require.LessOrEqual(t, float64(got), float64(p.MaximumInterval)*(1+p.Jitter)+1)
		plain := p
		plain.Jitter = 0
		require.InDelta(t, float64(delay(plain, n, id)), float64(got), float64(delay(plain, n, id))*p.Jitter+1)
	})
}

// A list of delays is taken as it stands, and its last entry repeats.
func TestDelayFollowsTheList(t *testing.T) {
	t.Parallel()
	p := event.Policy{Delays: []event.Duration{event.Duration(time.Second), event.Duration(time.Minute)}}
	require.Equal(t, time.Second, delay(p, 1, "id"))
	require.Equal(t, time.Minute, delay(p, 2, "id"))
	require.Equal(t, time.Minute, delay(p, 9, "id"))
}

// A list with jitter: each pause has its place in the list, or the last place, spread by no more than the jitter.
func TestDelaysOfAListKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Int64Range(int64(time.Second), int64(24*time.Hour)), 1, 10).Draw(t, "list")
		p := event.Policy{Jitter: rapid.Float64Range(0, 1).Draw(t, "jitter")}
		for _, d := range list {
			p.Delays = append(p.Delays, event.Duration(d))
		}
		id := rapid.String().Draw(t, "id")
		for n := 1; n <= 2*len(list); n++ {
			want := float64(list[min(n, len(list))-1])
			require.InDelta(t, want, float64(delay(p, n, id)), want*p.Jitter+1, "pause %d", n)
			require.GreaterOrEqual(t, delay(p, n, id), time.Duration(0))
		}
	})
}

// Jitter spreads events evenly, or it would not part the herd that an outage has made.
func TestJitterIsEven(t *testing.T) {
	t.Parallel()
	const events, buckets = 10_000, 10
	var count [buckets]int
	for n := range events {
		count[int((spread("event", n)+1)/2*buckets)]++
	}
	for _, c := range count {
		require.InDelta(t, events/buckets, c, events/buckets*0.15)
	}
}

// A summary is cut to what Temporal takes, between two characters.
func TestASummaryIsCut(t *testing.T) {
	t.Parallel()
	require.Equal(t, "upsert", clip("upsert"))
	longest := strings.Repeat("x", maxSummary)
	require.Equal(t, longest, clip(longest))
	require.Equal(t, longest+"…", clip(longest+"x"))
	for n := range 4 {
		cut := clip(strings.Repeat("x", n) + strings.Repeat("日", maxSummary))
		require.LessOrEqual(t, len(cut), maxSummary+len("…"))
		require.True(t, utf8.ValidString(cut))
	}
}
