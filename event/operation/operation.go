package operation

import (
	"crypto/rand"
	"strings"
	"time"
)

// Kind is a kind of operation. It is part of the names of commands, routes, tables and workflows.
type Kind string

// The kinds of operations.
const (
	KindRedrive Kind = "redrive"
	KindRebuild Kind = "rebuild"
	KindResend  Kind = "resend"
	KindImport  Kind = "import"
)

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{KindRedrive, KindRebuild, KindResend, KindImport} }

// Plural returns the plural: "redrives".
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
	// Share returns the progress, from 0 to 1.
	Share() float64
}

// Base has the fields common to all operations.
type Base struct {
	ID string `json:"id"`
	// Rate is the max rate per second: see Rates.
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
