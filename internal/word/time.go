package word

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// TimeForms lists what ParseTime accepts, for help and descriptions.
const TimeForms = "back from now (90m, 7d), a date in UTC, or RFC 3339 with a zone"

// These complete "invalid NAME:".
var (
	errNoTime = errors.New("use a duration back from now (90m, 24h, 7d), a date in UTC (2026-01-31), " +
		"or RFC 3339 with a time zone (2026-01-31T09:00:00Z)")
	errNoDuration = errors.New("use a duration in s, m, h or d (90s, 30m, 1h30m, 7d)")
)

// ParseTime parses a duration that counts back from now ("90m", "7d"), an RFC 3339 time with or without seconds, or a date in
// UTC. The error says what to use instead, without the text.
func ParseTime(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	ago, err := ParseDuration(text)
	if err != nil || ago < 0 {
		return time.Time{}, ExplainTime(text)
	}
	return now.UTC().Add(-ago), nil
}

// ExplainTime returns why a text isn't a time, and what to use instead.
func ExplainTime(text string) error {
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if at, err := time.Parse(layout, text); err == nil {
			local := at.Format("2006-01-02T15:04:05.999999999")
			return fmt.Errorf("it has no time zone: use %sZ for UTC, or an offset such as %s+03:00", local, local)
		}
	}
	if _, err := time.Parse(time.RFC3339Nano, strings.Replace(text, " ", "+", 1)); err == nil {
		return errors.New("a + in a URL means a space: write it as %2B")
	}
	return errNoTime
}

// ParseDuration parses Go's form, which may begin with a number of days of 24 hours ("7d", "1d12h"). The error says what to use
// instead, without the text.
func ParseDuration(text string) (time.Duration, error) {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		days, rest = "0", text
	}
	n, err := strconv.ParseUint(days, 10, 16) // 65535 days are 179 years
	if err != nil || found && strings.HasPrefix(rest, "-") {
		return 0, errNoDuration
	}
	if rest == "" && found {
		rest = "0"
	}
	d, err := time.ParseDuration(rest)
	if err != nil {
		return 0, errNoDuration
	}
	return time.Duration(n)*24*time.Hour + d, nil
}
