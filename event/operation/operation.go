package operation

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast/event"
)

// Kind is a kind of operation. It is part of the names of commands, routes, tables and workflows.
type Kind string

// The kinds of operations.
const (
	KindReplay   Kind = "replay"
	KindRebuild  Kind = "rebuild"
	KindResend   Kind = "resend"
	KindImport   Kind = "import"
	KindRecovery Kind = "recovery"
)

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{KindReplay, KindRebuild, KindResend, KindImport, KindRecovery} }

// Plural returns the plural: "replays", or "recoveries".
func (k Kind) Plural() string {
	if stem, ok := strings.CutSuffix(string(k), "ry"); ok {
		return stem + "ries"
	}
	return string(k) + "s"
}

// Title returns the kind with a capital letter: "Replay".
func (k Kind) Title() string { return strings.ToUpper(string(k[:1])) + string(k[1:]) }

// WithArticle returns "a replay", or "an import".
func (k Kind) WithArticle() string {
	if strings.ContainsRune("aeiou", rune(k[0])) {
		return "an " + string(k)
	}
	return "a " + string(k)
}

// Any is an operation of any kind.
type Any interface {
	Common() Base
	// Share returns the progress, from 0 to 1.
	Share() float64
}

// Base contains the fields that all operations share.
type Base struct {
	ID string `json:"id"`
	// Rate is the max number of runs, events, deliveries or lines per second.
	Rate      float64    `json:"rate"`
	State     State      `json:"state"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	StartedBy string     `json:"started_by"`
}

// Common returns the common fields.
func (b Base) Common() Base { return b }

// New returns the base of a new operation.
func New(rate float64) Base { return Base{ID: NewID(), Rate: rate} }

// NewID returns a unique ID that is short enough to type and sorts by time.
func NewID() string {
	return time.Now().UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:4])
}

// State is the state of an operation: running ⇄ paused, and from either to completed or canceled, which are final.
type State string

// The states of an operation.
const (
	Running   State = "running"
	Paused    State = "paused"
	Completed State = "completed"
	Canceled  State = "canceled"
)

// Ended reports whether the state is final.
func (s State) Ended() bool { return s == Completed || s == Canceled }

// Rates limits the rate of a kind of operation, per second.
type Rates struct {
	Min, Max, Default float64
	// Unit names what the rate counts: "runs".
	Unit string
}

var rates = map[Kind]Rates{
	KindReplay:   {0.01, 1000, 50, "runs"},
	KindRebuild:  {0.01, 10_000, 200, "events"},
	KindResend:   {0.1, 10_000, 100, "deliveries"},
	KindImport:   {0.01, 10_000, 500, "lines"},
	KindRecovery: {0.01, 1000, 20, "events"},
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
