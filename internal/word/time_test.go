package word

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A time is a duration back from now, a date in UTC, or RFC 3339; each keeps its zone.
func TestTimesAreParsed(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.FixedZone("", 3*60*60))
	for text, want := range map[string]string{
		"90m": "2026-11-28T07:30:00Z", "7d": "2026-11-21T09:00:00Z", "1d12h": "2026-11-26T21:00:00Z", "0s": "2026-11-28T09:00:00Z",
		"2026-11-28": "2026-11-28T00:00:00Z", "2026-11-28T12:00:00+03:00": "2026-11-28T09:00:00Z",
		"2026-11-28T09:00Z": "2026-11-28T09:00:00Z", "2026-11-28T09:00:00.5Z": "2026-11-28T09:00:00.5Z",
	} {
		at, err := ParseTime(text, now)
		require.NoError(t, err, text)
		require.Equal(t, want, at.Format(time.RFC3339Nano), text)
	}
}

// An invalid time is refused with what to use instead: a zone, an escaped plus, a known unit.
func TestInvalidTimesAreExplained(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-11-28T10:00":          "it has no time zone: use 2026-11-28T10:00:00Z for UTC, or an offset such as 2026-11-28T10:00:00+03:00",
		"2026-11-28 10:00:00.5":     "it has no time zone: use 2026-11-28T10:00:00.5Z for UTC",
		"2026-11-28T10:00:00 03:00": "write it as %2B",
		"yesterday":                 "use a duration back from now (90m, 24h, 7d), a date in UTC (2026-01-31), or RFC 3339 with a time zone",
		"7days":                     "use a duration back from now (90m, 24h, 7d)",
		"1w":                        "use a duration back from now (90m, 24h, 7d)",
		"-1h":                       "use a duration back from now (90m, 24h, 7d)",
		"1d-1h":                     "use a duration back from now (90m, 24h, 7d)",
		"99999999999999d":           "use a duration back from now (90m, 24h, 7d)",
		"":                          "use a duration back from now (90m, 24h, 7d)",
	} {
		_, err := ParseTime(text, time.Now())
		require.ErrorContains(t, err, want, text)
	}
	for _, text := range []string{"", "5", "1w", "d", "-7d", "7d7", "1h2d"} {
		_, err := ParseDuration(text)
		require.EqualError(t, err, "use a duration in s, m, h or d (90s, 30m, 1h30m, 7d)", text)
	}
}
