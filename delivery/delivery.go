package delivery

import (
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"holdfast/event"
)

// Status is the status of a delivery.
type Status string

// The statuses of a delivery.
const (
	Pending    Status = "pending"    // no attempt yet that counts
	Processing Status = "processing" // an attempt is in flight
	Retrying   Status = "retrying"   // the last attempt failed, and another is scheduled
	Delivered  Status = "delivered"
	Failed     Status = "failed"   // the retries are exhausted, or the error is final: there is a dead letter, unless it expired
	Canceled   Status = "canceled" // by an operator
)

// Statuses lists all statuses.
func Statuses() []Status { return []Status{Pending, Processing, Retrying, Delivered, Failed, Canceled} }

// Summary reduces the statuses of an event's deliveries to one: the first of processing, retrying, pending and failed that
// occurs, else delivered. An event without deliveries counts as delivered.
func Summary(all []Status) Status {
	for _, s := range []Status{Processing, Retrying, Pending, Failed} {
		if slices.Contains(all, s) {
			return s
		}
	}
	return Delivered
}

// Delivery is one event for one subscription.
type Delivery struct {
	EventID        string `json:"event_id" jsonschema:"format=uuid"`
	SubscriptionID int64  `json:"subscription_id"`
	Subscription   string `json:"subscription"`
	DestinationID  int64  `json:"destination_id"`
	Destination    string `json:"destination"`
	Provider       string `json:"provider,omitempty"`
	Type           string `json:"type,omitempty"`
	Status         Status `json:"status"`
	// Code is the result of the last attempt: an HTTP status such as "200", or a name such as "timeout" or "started".
	Code string `json:"code,omitempty"`
	// Attempts counts the attempts that count against the retry policy.
	Attempts int `json:"attempts"`
	// Generation increases each time the delivery is sent again.
	Generation int `json:"generation,omitempty"`
	// OrderKey is the key within which an open delivery is ordered; "" if it isn't.
	OrderKey string `json:"order_key,omitempty"`
	// Waits says why an open delivery isn't in flight: "due" (scheduled), "paused", "disabled", "breaker", "full" (in-flight limit),
	// "rate" (no slot soon), "busy" (the endpoint asked for a pause), "order" (behind the head of its key), "unsorted" (an earlier
	// transaction is still open) or "key_paused" (the head of a key, which an operator has paused).
	Waits    string    `json:"blocked_by,omitempty"`
	QueuedAt time.Time `json:"queued_at"`
	// DueAt is when the next attempt is due.
	DueAt  *time.Time `json:"due_at,omitempty"`
	DoneAt *time.Time `json:"done_at,omitempty"`
	// MS is the duration of the last attempt in milliseconds.
	MS int `json:"ms,omitempty"`
	// Error says why the last attempt failed.
	Error string `json:"error,omitempty"`
	// Answer is the beginning of the last response, at most MaxAnswer bytes.
	Answer []byte `json:"answer,omitempty"`
}

// IsFinished reports whether the delivery has ended, in whatever way.
func (d Delivery) IsFinished() bool {
	return d.Status != Pending && d.Status != Processing && d.Status != Retrying
}

// CanResend reports whether it can be sent again, or its retry be made now.
func (d Delivery) CanResend() bool { return d.IsFinished() || d.Status == Retrying }

// Key identifies a delivery.
type Key struct {
	EventID        string `json:"event_id" jsonschema:"format=uuid"`
	SubscriptionID int64  `json:"subscription_id"`
}

// deliveryIDs is the UUID namespace of delivery IDs.
var deliveryIDs = uuid.MustParse("5f2b7a52-6f43-4a0e-9d0b-6a2c1b0f6c11")

// ID returns the UUIDv5 of event and subscription.
func (k Key) ID() string {
	return uuid.NewSHA1(deliveryIDs, []byte(k.EventID+"/"+strconv.FormatInt(k.SubscriptionID, 10))).String()
}

// Attempt is one attempt of a delivery.
type Attempt struct {
	Key

	Subscription string `json:"subscription"`
	// Number counts the attempts of the delivery, from 1. Resending a delivery doesn't reset it.
	Number     int       `json:"attempt_number" jsonschema:"minimum=1"`
	At         time.Time `json:"at"`
	Generation int       `json:"generation,omitempty"`
	OK         bool      `json:"ok"`
	Code       string    `json:"code"`
	// Error contains no address, payload or secret.
	Error  string `json:"error,omitempty"`
	MS     int    `json:"ms"`
	Answer []byte `json:"answer,omitempty"`
}

// MaxAnswer bounds the part of a response that is stored, in bytes.
const MaxAnswer = 4 << 10

// Job is a leased delivery: no other process attempts it before LeasedUntil.
type Job struct {
	Key

	DestinationID int64
	Lease         string // a UUID
	LeasedUntil   time.Time
	// StartAt and StartBy bound the start of the attempt if the destination has a rate. A job that can't start by StartBy is
	// returned to the queue.
	StartAt, StartBy time.Time
	// Lead is the minimum time between the lease and StartAt.
	Lead  time.Duration
	Epoch int64
	// Attempts counts earlier attempts, Tries the leases since then that ended without a result.
	Attempts, Tries int
	Generation      int
	// HasOwnID is false for deliveries queued by releases that sent the event ID as the delivery ID.
	HasOwnID bool
	// IsOrdered means that others may wait for the end of this delivery.
	IsOrdered bool
	QueuedAt  time.Time
	// WaitsUntil is the scheduled time of the next attempt if the job is a probe, else zero. A failed probe doesn't count as an
	// attempt.
	WaitsUntil time.Time
}

// ID is the delivery ID that the destination sees.
func (j Job) ID() string {
	if j.HasOwnID {
		return IDOf(j.Key.ID(), j.Generation)
	}
	return IDOf(j.EventID, j.Generation)
}

// Message is an event to deliver.
type Message struct {
	Receipt    event.Receipt
	Type       string
	OccurredAt time.Time
	Body       []byte
	// PossibleDuplicateOf is the ID of the first event with the same content, if the key is guessed.
	PossibleDuplicateOf string
}

// Kind classifies the result of an attempt.
type Kind int

// The kinds of results.
const (
	// OK: the destination accepted the delivery.
	OK Kind = iota
	// Bad: the attempt counts against the retry policy and the breaker, and is retried.
	Bad
	// Slow: like Bad, and the destination or a proxy is overloaded (502, 503, 504).
	Slow
	// Final: a retry can't succeed. The delivery becomes a dead letter; the breaker doesn't count it.
	Final
	// Gone: the endpoint wants no more events (410). The destination is disabled and the delivery stays pending.
	Gone
	// Ours: the cause is on our side, such as a missing secret or a shutdown. It counts nowhere.
	Ours
	// Busy: the endpoint asked for a pause (429, or 503 with Retry-After). It counts nowhere and pauses the destination.
	Busy
	// Blocked: the destination's configuration can't be used, such as a client key that doesn't match its certificate. It counts
	// for the breaker, so that the destination stops with a reason, and not against the retry policy.
	Blocked
	// Missing: what this event needs isn't there yet, such as the workflow that it signals. It counts against the retry policy, and
	// not for the breaker, since it says nothing about other events.
	Missing
)

// Reach says whether an attempt reached the destination's host.
type Reach int

// The values of Reach.
const (
	// ReachUnknown: nothing was tried, or the result doesn't tell.
	ReachUnknown Reach = iota
	// Reached: the host accepted or refused a connection.
	Reached
	// Unreached: there was no address, no route or no response before a connection was established.
	Unreached
)

// MaxRetryAfter caps the pause that an endpoint can ask for.
const MaxRetryAfter = time.Hour

// Result is the outcome of an attempt.
type Result struct {
	Kind Kind
	// Code is short and stable: an HTTP status such as "200", or a name such as "timeout", "dns", "filter_error", "started".
	Code string
	// Error is the message for operators, without address, payload or secret.
	Error string
	// RetryAfter is the pause that the endpoint asked for, at most MaxRetryAfter.
	RetryAfter time.Duration
	Answer     []byte
	Reach      Reach
	// Resent: the endpoint was just closing a kept connection, so the request was sent again on a new one.
	Resent bool
	// Proxy is the name of the proxy that the attempt used; "" if none.
	Proxy string
	// Connected: the attempt used a connection to the endpoint that was made for it, rather than a kept one.
	Connected bool
	At        time.Time
	Took      time.Duration
}

// Outcome is a job with its result.
type Outcome struct {
	Job
	Result
	// Dead means that no attempt follows and that a dead letter is recorded. Otherwise DueAt is the time of the next attempt.
	Dead  bool
	DueAt time.Time
}

// Target holds everything that a sender needs for an attempt.
type Target struct {
	Destination  Destination
	Subscription Subscription
	// Secrets sign requests, newest first, including the secrets in the variable HTTP.Secrets.
	Secrets []string
}

// Transition is a state change of a destination caused by delivery results.
type Transition struct {
	DestinationID int64
	Destination   string
	From, To      BreakerState
	// Disabled is the reason if the destination was disabled.
	Disabled string
}

// Codes of deliveries that ended without an attempt, also used in the SQL of the outbox. Senders define the codes of attempts.
const (
	// CodeLostLeases: the delivery was leased repeatedly and no process reported a result.
	CodeLostLeases = "lost_leases"
	// CodeExpired: the delivery was open for longer than Destination.Keep.
	CodeExpired = "expired"
	// CodeDeleted: its subscription or destination was deleted.
	CodeDeleted  = "deleted"
	CodeCanceled = "canceled"
	// CodeUnreadable: this release can't read the destination's settings. Nothing is delivered until it is applied again.
	CodeUnreadable = "unreadable_destination"
	// CodeLateStart: the attempt couldn't start in the slot that the rate limit gave it.
	CodeLateStart = "late_start"
	CodeExpunged  = "expunged"
	// CodeFilesUnread is the code of a check: the process that made it can't read the destination's certificates.
	CodeFilesUnread = "tls_files_unread"
	// CodeProxy: the proxy can't be used, whatever the endpoint. The attempt counts nowhere.
	CodeProxy = "proxy"
)

// LeaseRequest limits what a process leases.
type LeaseRequest struct {
	Limit int
	// Room returns how many more attempts each destination may start. It is called once, with the candidates in the order in which
	// they are served; nil means unlimited.
	Room func(destinations []int64) []int
	// Without excludes destinations.
	Without []int64
	// Only restricts the lease to these destinations, unless it is nil.
	Only []int64
}

// Query selects deliveries, the newest event first. Empty fields do not restrict.
type Query struct {
	EventID        string
	SubscriptionID int64
	DestinationID  int64
	Status         Status
	// Open selects pending, processing and retrying deliveries, Undelivered also failed ones.
	Open, Undelivered bool
	// Ended selects delivered, failed and canceled deliveries.
	Ended bool
	// Since and Until bound when the event was accepted: Since ≤ time < Until.
	Since, Until time.Time
	// Before is the last delivery of the previous page; nil for the first page.
	Before *Key
	// Limit is 1 to event.MaxPage; 0 means event.MaxPage.
	Limit int
}

// MaxCanceled bounds how many pending deliveries one request cancels. Repeat the request to cancel more.
const MaxCanceled = 10_000
