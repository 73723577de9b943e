package delivery

import (
	"strconv"
	"time"

	"github.com/google/uuid"

	"holdfast/event"
)

// Status is where a delivery stands.
type Status string

// The statuses of a delivery.
const (
	// Pending: no attempt has been made.
	Pending Status = "pending"
	// Processing: an attempt is under way.
	Processing Status = "processing"
	// Retrying: an attempt has failed, and the next one is due later.
	Retrying Status = "retrying"
	// Delivered: the receiver has taken it.
	Delivered Status = "delivered"
	// Failed: the policy could not deliver it, so that there is a dead letter.
	Failed Status = "failed"
	// Canceled: an operator did not want it delivered.
	Canceled Status = "canceled"
)

// Statuses are all of them.
func Statuses() []Status { return []Status{Pending, Processing, Retrying, Delivered, Failed, Canceled} }

// Summary is the one status of an event that stands for those of its deliveries: the first of processing, retrying, pending,
// failed that one of them has, else delivered, which is also that of an event which matches no subscription.
func Summary(all []Status) Status {
	for _, s := range []Status{Processing, Retrying, Pending, Failed} {
		for _, one := range all {
			if one == s {
				return s
			}
		}
	}
	return Delivered
}

// Delivery is one event for one subscription.
type Delivery struct {
	EventID        string `json:"event_id"`
	SubscriptionID int64  `json:"subscription_id"`
	Subscription   string `json:"subscription"`
	DestinationID  int64  `json:"destination_id"`
	Destination    string `json:"destination"`
	Provider       string `json:"provider,omitempty"`
	Type           string `json:"type,omitempty"`
	Status         Status `json:"status"`
	// Code is that of the last attempt: see Result.
	Code       string `json:"code,omitempty"`
	Attempts   int    `json:"attempts"`
	Generation int    `json:"generation,omitempty"`
	// Waits says why an open one is not under way: "due", which is a matter of time, "paused", "disabled", "breaker"; "full" if as
	// many are under way as may be, "rate" if no start time is near, "busy" if the receiver has asked for a pause.
	Waits    string     `json:"waits,omitempty"`
	QueuedAt time.Time  `json:"queued_at"`
	DueAt    *time.Time `json:"due_at,omitempty"`
	DoneAt   *time.Time `json:"done_at,omitempty"`
	// MS is how long the last attempt took.
	MS int `json:"ms,omitempty"`
	// Error says why the last attempt failed: connection refused, reset, timed out …
	Error string `json:"error,omitempty"`
	// Answer is what came back with the last attempt, at most MaxAnswer bytes.
	Answer []byte `json:"answer,omitempty"`
}

// Key identifies a delivery.
type Key struct {
	EventID        string `json:"event_id"`
	SubscriptionID int64  `json:"subscription_id"`
}

// deliveryIDs is the namespace of the IDs of deliveries.
var deliveryIDs = uuid.MustParse("5f2b7a52-6f43-4a0e-9d0b-6a2c1b0f6c11")

// ID is the UUIDv5 of event and subscription, the same whenever it is made.
func (k Key) ID() string {
	return uuid.NewSHA1(deliveryIDs, []byte(k.EventID+"/"+strconv.FormatInt(k.SubscriptionID, 10))).String()
}

// Attempt is one try of a delivery.
type Attempt struct {
	Key

	Subscription string `json:"subscription"`
	// Number counts the attempts of the delivery, from 1. Those of a delivery that is sent again go on counting.
	Number       int       `json:"attempt_number"`
	At           time.Time `json:"at"`
	Generation   int       `json:"generation,omitempty"`
	OK           bool      `json:"ok"`
	Code         string    `json:"code"`
	Error        string    `json:"error,omitempty"`
	MS           int       `json:"ms"`
	Answer       []byte    `json:"answer,omitempty"`
}

// MaxAnswer bounds what is kept of an answer, in bytes.
const MaxAnswer = 4 << 10

// Job is a delivery that a process has leased: until LeasedUntil nobody else attempts it.
type Job struct {
	Key

	DestinationID int64
	Lease         string // a UUID
	LeasedUntil   time.Time
	// StartAt is when the attempt may start, and StartBy the latest time at which it may, where the destination has a rate. One that
	// cannot start by then is given back.
	StartAt, StartBy time.Time
	// Lead is how long before StartAt it was leased at least.
	Lead  time.Duration
	Epoch int64
	// Attempts is how many were counted before, Tries how often it was leased since without an outcome; both 0 at the first.
	Attempts, Tries int
	Generation      int
	// HasOwnID is false for what was queued when a delivery had the ID of its event.
	HasOwnID bool
	QueuedAt time.Time
	// WaitsUntil is when a probe is due by its schedule; zero where the job is no probe. A probe that fails uses up no attempt.
	WaitsUntil time.Time
}

// ID is what the receiver knows the delivery by.
func (j Job) ID() string {
	if j.HasOwnID {
		return IDOf(j.Key.ID(), j.Generation)
	}
	return IDOf(j.EventID, j.Generation)
}

// Message is an event as it leaves.
type Message struct {
	Receipt    event.Receipt
	Type       string
	OccurredAt time.Time
	Body       []byte
	// PossibleDuplicateOf is the ID of the first event with the same content, if the key is guessed; "" if there is none.
	PossibleDuplicateOf string
}

// Kind says what became of an attempt.
type Kind int

const (
	// OK says that the receiver has taken it.
	OK Kind = iota
	// Bad counts against the policy and the breaker, and is tried again.
	Bad
	// Slow says that the receiver, or what is before it, can't answer now (502, 503, 504): it is tried again, and counts.
	Slow
	// Final says that trying again cannot help: a dead letter, which says nothing of the destination.
	Final
	// Gone says that the receiver wants nothing any more (410). The destination is disabled, and this delivery waits.
	Gone
	// Ours says that the attempt has failed for a reason of ours (a secret that is not configured, a stop). It counts nowhere.
	Ours
	// Busy says that the receiver asks for a pause (429, or 503 with Retry-After). It counts nowhere, and pauses the destination.
	Busy
)

// MaxRetryAfter bounds the pause that a receiver can ask for. One that asks for more gets this much.
const MaxRetryAfter = time.Hour

// Result is what became of an attempt.
type Result struct {
	Kind Kind
	// Code is a short, stable name: "200" and the like for HTTP; "timeout", "connection", "dns", "tls", "private_address",
	// "filter_error", "existing", "started", "signaled" …
	Code string
	// Error says it to a person, without address, payload or secret.
	Error string
	// RetryAfter is the pause that the receiver asks for, at most MaxRetryAfter; 0 is none.
	RetryAfter time.Duration
	// Answer is the beginning of what came back.
	Answer []byte
	At     time.Time
	Took   time.Duration
}

// Settled is a job with its result.
type Settled struct {
	Job
	Result
	// Dead says that no attempt follows, and a dead letter is recorded. If not, DueAt is when the next one is.
	Dead  bool
	DueAt time.Time
}

// Target is what an attempt of a delivery needs to know.
type Target struct {
	Destination  Destination
	Subscription Subscription
	// Secrets are what requests are signed with, the newest first. They include those of the variables that HTTP.Secrets names.
	Secrets []string
}

// Turn is a change of a destination's breaker or state, made by outcomes.
type Turn struct {
	DestinationID int64
	Destination   string
	From, To      BreakerState
	// Disabled says why outcomes have disabled it; "" if they have not.
	Disabled string
}
