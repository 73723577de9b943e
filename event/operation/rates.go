package operation

import (
	"fmt"
	"strconv"
	"strings"

	"holdfast/event"
)

// Rates limits the rate of a kind of operation, per second.
type Rates struct {
	Min, Max, Default float64
	// Unit is what the rate counts: "runs".
	Unit string
}

var rates = map[Kind]Rates{
	KindRedrive: {0.01, 1000, 50, "runs"},
	KindRebuild: {0.01, 10_000, 200, "events"},
	KindResend:  {0.1, 10_000, 100, "deliveries"},
	KindImport:  {0.01, 10_000, 500, "lines"},
}

// Rates returns the limits of the kind.
func (k Kind) Rates() Rates { return rates[k] }

// Allow reports whether the rate is within the limits.
func (r Rates) Allow(rate float64) bool { return rate >= r.Min && rate <= r.Max }

// CheckRate rejects a rate outside the limits: code "invalid_rate".
func (k Kind) CheckRate(rate float64) error {
	r := k.Rates()
	if r.Allow(rate) {
		return nil
	}
	return event.Rejectf("invalid_rate", "the rate of %s must be %g to %.0f %s a second", k.WithArticle(), r.Min, r.Max, r.Unit)
}

// ParseRate parses "50/s", "600/m", "1000/h" or "50" (per second) as a number per second.
func ParseRate(text string) (float64, error) {
	number, unit, _ := strings.Cut(text, "/")
	perSecond, known := map[string]float64{"": 1, "s": 1, "m": 60, "h": 3600}[unit]
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !known || !(n > 0) {
		return 0, fmt.Errorf("invalid rate %q: use a positive number and a unit, such as 50/s, 600/m or 1000/h", text)
	}
	return n / perSecond, nil
}
