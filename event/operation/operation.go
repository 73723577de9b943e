package operation

import (
	"crypto/rand"
	"strings"
	"time"
)

// Kind is a kind of operation. It names the commands, routes and tables of the operations of that kind, and their workflows.
type Kind string

// The kinds of operations.
const (
	KindRedrive Kind = "redrive"
	KindRebuild Kind = "rebuild"
	KindResend  Kind = "resend"
	KindImport  Kind = "import"
)

// Kinds returns all of them.
func Kinds() []Kind { return []Kind{KindRedrive, KindRebuild, KindResend, KindImport} }

// Plural returns the name of several: "redrives".
func (k Kind) Plural() string { return string(k) + "s" }

// WithArticle returns "a redrive", or "an import".
func (k Kind) WithArticle() string {
	if strings.ContainsRune("aeiou", rune(k[0])) {
		return "an " + string(k)
	}
	return "a " + string(k)
}

// Any is an operation of any kind.
type Any interface {
	Common() Base
	// Share is how far it has come, from 0 to 1.
	Share() float64
}

// Base holds what an operation of every kind has.
type Base struct {
	ID string `json:"id"`
	// Rate is how much the operation does a second, at most: see Rates.
	Rate      float64    `json:"rate"`
	State     State      `json:"state"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	StartedBy string     `json:"started_by"`
}

// Common returns the base of an operation whose kind doesn't matter.
func (b Base) Common() Base { return b }

// New returns the base of an operation that is about to start.
func New(rate float64) Base { return Base{ID: NewID(), Rate: rate} }

// NewID returns the ID of a new operation: short enough to type, sorted by time, and unique.
func NewID() string {
	return time.Now().UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:4])
}

// State is the state of an operation: running ⇄ paused, and from both to completed or canceled, which it never leaves.
type State string

// The states of an operation.
const (
	Running   State = "running"
	Paused    State = "paused"
	Completed State = "completed"
	Canceled  State = "canceled"
)

// Ended reports whether the operation does nothing any more.
func (s State) Ended() bool { return s == Completed || s == Canceled }
