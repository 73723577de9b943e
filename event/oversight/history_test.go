package oversight

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// A chart has up to 49 buckets, whatever its time range. They begin at multiples of their length and contain the whole range.
func TestAChartHasAFewBuckets(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 17, 3, 20, 0, time.UTC)
	at := func(text string) time.Time {
		moment, err := time.Parse("2 15:04", text)
		require.NoError(t, err)
		return moment.AddDate(2026, 10, 0)
	}
	for name, c := range map[string]struct {
		since, until time.Time
		want         Span
	}{
		"a day by default": {want: Span{at("28 17:00"), at("29 17:30"), event.Duration(30 * time.Minute)}},
		"an hour":          {since: now.Add(-time.Hour), want: Span{at("29 16:00"), at("29 17:05"), event.Duration(5 * time.Minute)}},
		"six hours":        {since: now.Add(-6 * time.Hour), want: Span{at("29 11:00"), at("29 17:10"), event.Duration(10 * time.Minute)}},
		"a day since": {
			since: now.Add(-24*time.Hour - time.Second), want: Span{at("28 17:00"), at("29 17:30"), event.Duration(30 * time.Minute)},
		},
		"a week":          {since: now.Add(-7 * 24 * time.Hour), want: Span{at("22 16:00"), at("29 20:00"), event.Duration(4 * time.Hour)}},
		"one bucket":      {since: at("29 10:00"), until: at("29 10:05"), want: Span{at("29 10:00"), at("29 10:05"), event.Duration(5 * time.Minute)}},
		"within a bucket": {since: at("29 10:01"), until: at("29 10:02"), want: Span{at("29 10:00"), at("29 10:05"), event.Duration(5 * time.Minute)}},
		"the day before":  {until: at("20 00:00"), want: Span{at("19 00:00"), at("20 00:00"), event.Duration(30 * time.Minute)}},
		"a later end":     {since: now.Add(-time.Minute), until: now.Add(time.Hour), want: Span{at("29 17:00"), at("29 17:05"), event.Duration(5 * time.Minute)}},
	} {
		got, ok := SpanOf(c.since, c.until, now)
		require.True(t, ok, name)
		require.Equal(t, c.want, got, name)
		require.LessOrEqual(t, got.Until.Sub(got.Since), (maxSteps+1)*time.Duration(got.Step), name)
	}
	year, ok := SpanOf(now.AddDate(-1, 0, 0), time.Time{}, now)
	require.True(t, ok)
	require.Equal(t, Span{now.Truncate(24 * time.Hour).Add(-KeptHistory), at("30 00:00"), event.Duration(24 * time.Hour)}, year)
	for _, c := range [][2]time.Time{{now, now}, {now.Add(time.Hour), {}}, {{}, now.Add(-KeptHistory)}} {
		_, ok := SpanOf(c[0], c[1], now)
		require.False(t, ok)
	}
}
