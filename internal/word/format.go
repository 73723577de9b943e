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
