package word

import (
	"fmt"
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

// Age formats how long something has lasted, for people: to the second, from an hour on to the minute, and from two days on to
// the hour.
func Age(d time.Duration) string {
	switch {
	case d < time.Second:
		return "less than a second"
	case d < time.Hour:
		return Duration(d.Truncate(time.Second))
	case d < 48*time.Hour:
		return Duration(d.Truncate(time.Minute))
	}
	return Duration(d.Truncate(time.Hour))
}
