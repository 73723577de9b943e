package operation

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseRate reads "50/s", "600/m", "1000/h" or "50" (a second) as a number a second.
func ParseRate(text string) (float64, error) {
	number, unit, _ := strings.Cut(text, "/")
	perSecond, known := map[string]float64{"": 1, "s": 1, "m": 60, "h": 3600}[unit]
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !known || !(n > 0) {
		return 0, fmt.Errorf("%q is no rate: want a number over 0 and a unit, such as 50/s, 600/m or 1000/h", text)
	}
	return n / perSecond, nil
}
