package delivery

import "strings"

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
const GoneReason = "its receiver wants nothing more: "

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
		if c.Breaker != BreakerOpen {
			return "Attempts fail and are retried. Check the endpoint"
		}
		return "The breaker is open: deliveries wait, and one tests the endpoint now and then. Fix the endpoint, then " + how.Retry
	case HealthReady:
	}
	return ""
}
