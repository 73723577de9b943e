package word

import "fmt"

// Count formats a number with its noun: "1 event", "2 events".
func Count[N ~int | ~int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
