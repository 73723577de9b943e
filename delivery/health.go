package delivery

import (
	"slices"
	"strings"
	"time"
)

// Health is the state set by an operator, or else the state that the attempts show.
type Health string

// The values of Health.
const (
	HealthReady      Health = "ready"
	HealthPaused     Health = "paused"
	HealthDisabled   Health = "disabled"
	HealthGone       Health = "gone"       // disabled by its own answer 410
	HealthFailing    Health = "failing"    // the breaker is open, or attempts keep failing
	HealthRecovering Health = "recovering" // the breaker is half open
)

// GoneReason begins the stored reason of a destination that its own response has disabled.
const GoneReason = "its endpoint wants nothing more: "

// Health derives the health from the state and the breaker.
func (c Condition) Health() Health {
	switch {
	case c.State == DestinationDisabled && strings.HasPrefix(c.Reason, GoneReason):
		return HealthGone
	case c.State == DestinationDisabled:
		return HealthDisabled
	case c.State == DestinationPaused:
		return HealthPaused
	case c.Breaker == BreakerHalfOpen:
		return HealthRecovering
	case c.Breaker == BreakerOpen, c.FailingSince != nil:
		return HealthFailing
	}
	return HealthReady
}

// CanRetry reports whether an attempt waits for a retry, the breaker or a pause that the endpoint has asked for, so that an
// operator can have it made now. Nothing can be while each delivery is behind another of its key, or its key is paused.
func (c Condition) CanRetry() bool {
	isDelayed := c.NextAt != nil && (c.Retrying > 0 || c.FailingSince != nil && c.Waiting > 0)
	return c.State == DestinationReady && (isDelayed || c.Breaker == BreakerOpen || c.ResumeAt != nil)
}

// Remedies complete sentences that tell a user how to resume, retry or delete a destination, such as "choose Resume".
type Remedies struct{ Resume, Retry, Delete string }

// Commands returns the remedies as commands between backticks.
func Commands(name string) Remedies {
	resume := "run `holdfast destination resume " + name + "`"
	return Remedies{Resume: resume, Retry: resume + " to try at once", Delete: "run `holdfast destination delete " + name + "`"}
}

// NextStep tells an operator what to do about a destination; "" if nothing.
func (c Condition) NextStep(how Remedies) string {
	switch c.Health() {
	case HealthGone:
		return "The endpoint answered 410 Gone. If it still wants events, " + how.Resume + "; otherwise " + how.Delete
	case HealthDisabled:
		return "Nothing is sent. Fix the cause, then " + how.Resume
	case HealthPaused:
		return "Nothing is sent until you " + how.Resume
	case HealthRecovering:
		return "A few deliveries test the endpoint. Wait: the breaker closes when they succeed"
	case HealthFailing:
		if isBlocked(c.Failure) {
			return "Nothing can be sent as configured. Fix what the reason names on every worker, then " + how.Retry
		}
		if !c.CanRetry() {
			return "The last attempts failed, and none is waiting for a retry. Check the endpoint: the next event is sent as usual"
		}
		if c.Breaker != BreakerOpen {
			return "Attempts fail and are retried. Fix the endpoint, then " + how.Retry
		}
		return "The breaker is open: deliveries wait, and one tests the endpoint now and then. Fix the endpoint, then " + how.Retry
	case HealthReady:
	}
	return ""
}

// isBlocked reports whether a failure (a code and its text) means that the destination can't be used as configured.
func isBlocked(failure string) bool {
	code, _, _ := strings.Cut(failure, ":")
	return slices.Contains([]string{
		"tls_files", "no_secret", "unusable_secret", "signature", "address", "profile", "proxy_refused", "proxy_unknown",
		"client_certificate",
	}, code)
}

// Recent summarizes a destination's last finished deliveries.
type Recent struct {
	DestinationID int64
	// Delivered counts the successful ones in the sample.
	Delivered int64
	// P95 is the 95th percentile of the duration of the successful ones, in milliseconds; 0 without any.
	P95 int
	// LastAt is when the latest of them ended; nil if none has.
	LastAt *time.Time
}

// Stats counts open deliveries and the states of destinations.
type Stats struct {
	// Open counts open deliveries by status: pending, processing, retrying.
	Open []OpenCount `json:"open"`
	// Breakers and States count destinations.
	Breakers map[BreakerState]int64     `json:"breakers"`
	States   map[DestinationState]int64 `json:"states"`
	// Failing names failing destinations, longest first, at most MaxFailing. FailingBreakers has their breakers.
	Failing         []string                `json:"troubled,omitempty"`
	FailingBreakers map[string]BreakerState `json:"-"`
	// FailingReasons maps each name in Failing to its last failure: code and text.
	FailingReasons []string `json:"-"`
	// DeadLetters counts unresolved dead letters of deliveries.
	DeadLetters int64 `json:"dead_letters"`
	// OldestSecret is when the oldest stored secret was set. Secrets in variables have no age.
	OldestSecret *time.Time `json:"oldest_secret,omitempty"`
}

// MaxFailing bounds Stats.Failing.
const MaxFailing = 20

// OpenCount counts open deliveries; Oldest is when the oldest was queued.
type OpenCount struct {
	Status Status     `json:"status"`
	Count  int64      `json:"count"`
	Oldest *time.Time `json:"oldest,omitempty"`
}
