package ledger

import (
	"time"

	"holdfast/event"
)

// Kind says what a request was meant to be. A sender may have kinds of its own.
type Kind string

// The kinds of requests.
const (
	KindEvent        Kind = "event"
	KindDuplicate    Kind = "duplicate"
	KindBadSignature Kind = "bad_signature"
)

// Outcome is what an answer says about the events of its request.
type Outcome string

// The outcomes.
const (
	// OutcomeOK: they were acknowledged, and so must exist.
	OutcomeOK Outcome = "ok"
	// OutcomeFail: they were refused, and must not exist unless another request has brought them.
	OutcomeFail Outcome = "fail"
	// OutcomeInfo: they may exist.
	OutcomeInfo Outcome = "info"
)

// NoAnswer is the status of a request that was never answered: a timeout, a reset, a sender that was killed.
const NoAnswer = 0

// OutcomeOf is the outcome of an HTTP status: 2xx ok, 4xx fail, anything else info.
func OutcomeOf(status int) Outcome {
	switch status / 100 {
	case 2:
		return OutcomeOK
	case 4:
		return OutcomeFail
	default:
		return OutcomeInfo
	}
}

// Event is one event of a request.
type Event struct {
	Provider string
	// Key is canonical (see event.CanonicalKey).
	Key string
	// SHA256 is that of the event's body: of its item if the request is a batch.
	SHA256 [32]byte
}

// WorkflowID is the ID of the event's workflow, and its name in reports.
func (e Event) WorkflowID() string { return event.WorkflowID(e.Provider, e.Key) }

// Run is the sender's own account of one run.
type Run struct {
	// ID is a part of every key that the run makes, as far as keys are made of what a sender chooses.
	ID      string    `json:"run"`
	Started time.Time `json:"started"`
	Seed    uint64    `json:"seed,omitempty"`
}

// Entry is one event that was sent once, with the answer.
type Entry struct {
	Event
	// Seq is the number of the request in its run. The events of a batch share it.
	Seq  int64
	Kind Kind
	At   time.Time
	// Status is NoAnswer if there is none.
	Status int
	// Took is the time from At to the answer.
	Took time.Duration
}

// Outcome is what is known of the event from this request.
func (e Entry) Outcome() Outcome { return OutcomeOf(e.Status) }

// AnsweredAt is the moment of the answer; zero if there is none.
func (e Entry) AnsweredAt() time.Time {
	if e.Status == NoAnswer {
		return time.Time{}
	}
	return e.At.Add(e.Took)
}

// Ledger is what was read of a file.
type Ledger struct {
	Runs    []Run
	Entries []Entry
}
