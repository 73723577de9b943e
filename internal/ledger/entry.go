package ledger

import (
	"time"

	"holdfast/event"
)

// Kind is the intent of a request. A sender may have kinds of its own.
type Kind string

// The kinds of requests.
const (
	KindEvent        Kind = "event"
	KindDuplicate    Kind = "duplicate"
	KindBadSignature Kind = "bad_signature"
)

// Outcome is the result that an answer gives for the events of its request.
type Outcome string

const (
	// OutcomeOK means that they were acknowledged, and so must exist.
	OutcomeOK Outcome = "ok"
	// OutcomeFail means that they were refused, and must not exist unless another request has delivered them.
	OutcomeFail Outcome = "fail"
	// OutcomeInfo means that they may exist.
	OutcomeInfo Outcome = "info"
)

// NoAnswer is the status of a request that was never answered: a timeout, a reset, a sender that was killed.
const NoAnswer = 0

// OutcomeOf returns the outcome for an HTTP status: 2xx ok, 4xx fail, anything else info.
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
	// SHA256 is the hash of the event's body, or of its item if the request is a batch.
	SHA256 [32]byte
}

// WorkflowID returns the ID of the event's workflow, which is also its name in reports.
func (e Event) WorkflowID() string { return event.WorkflowID(e.Provider, e.Key) }

// Run describes one run of a sender.
type Run struct {
	// ID is a part of every key of the run, as far as the sender chooses keys.
	ID      string    `json:"run"`
	Started time.Time `json:"started"`
	Seed    uint64    `json:"seed,omitempty"`
}

// Entry is one event of one request, with the answer.
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

// Outcome returns what this request shows about the event.
func (e Entry) Outcome() Outcome { return OutcomeOf(e.Status) }

// AnsweredAt returns the time of the answer; zero if there is none.
func (e Entry) AnsweredAt() time.Time {
	if e.Status == NoAnswer {
		return time.Time{}
	}
	return e.At.Add(e.Took)
}

// Ledger is the parsed content of a file.
type Ledger struct {
	Runs    []Run
	Entries []Entry
}
