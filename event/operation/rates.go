package operation

import (
	"fmt"
	"strconv"
	"strings"

	"holdfast/event"
)

// Rates are the rates that the operations of a kind can have, a second.
type Rates struct {
	Min, Max, Default float64
	// Unit is what they count: "runs".
	Unit string
}

var rates = map[Kind]Rates{
	KindRedrive: {0.01, 1000, 50, "runs"},
	KindRebuild: {0.01, 10_000, 200, "events"},
	KindResend:  {0.1, 10_000, 100, "deliveries"},
	KindImport:  {0.01, 10_000, 500, "lines"},
}

// Rates returns the rates that operations of the kind can have.
func (k Kind) Rates() Rates { return rates[k] }

// Allow reports whether an operation may have the rate.
func (r Rates) Allow(rate float64) bool { return rate >= r.Min && rate <= r.Max }

// CheckRate rejects a rate that no operation of the kind can have: code "invalid_rate".
func (k Kind) CheckRate(rate float64) error {
	r := k.Rates()
	if r.Allow(rate) {
		return nil
	}
	return event.Rejectf("invalid_rate", "%s has a rate of %g to %.0f %s a second", k.WithArticle(), r.Min, r.Max, r.Unit)
}

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
