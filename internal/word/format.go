package word

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Count formats a number with its noun: "1 event", "2 events".
func Count[N ~int | ~int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// errNoTime completes "invalid NAME:".
var errNoTime = errors.New("use a duration (90m, 7d) or RFC 3339")

// ParseTime parses a duration that counts back from now ("90m", "7d"), an RFC 3339 time, or a date in UTC. The error says what
// to use instead, without the text.
func ParseTime(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 31); err == nil {
			return now.UTC().AddDate(0, 0, -int(n)), nil
		}
	}
	ago, err := time.ParseDuration(text)
	if err != nil || ago < 0 {
		return time.Time{}, errNoTime
	}
	return now.UTC().Add(-ago), nil
}

// Duration formats a duration without trailing zero units: 5m, not 5m0s.
func Duration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = strings.TrimSuffix(text, zero[1:])
		}
	}
	return text
}
