package delivery

import "strings"

// Health is how a destination is doing, in one word: what an operator has decided, else what its attempts have shown.
type Health string

// The words for a destination's health.
const (
	HealthReady      Health = "ready"
	HealthPaused     Health = "paused"
	HealthDisabled   Health = "disabled"
	HealthGone       Health = "gone"       // disabled by its own answer 410
	HealthFailing    Health = "failing"    // the breaker is open, or attempts keep failing
	HealthRecovering Health = "recovering" // the breaker is half open
)

// GoneReason begins the reason of a destination that its own answer has disabled.
const GoneReason = "its receiver wants nothing more: "

// Health sums up the state and the breaker.
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
	case c.Breaker == BreakerOpen, c.TroubleSince != nil:
		return HealthFailing
	}
	return HealthReady
}

// Remedies say how a user resumes a destination, tries it again at once and deletes it: each ends a sentence, like "choose
// Resume".
type Remedies struct{ Resume, Retry, Delete string }

// Commands are the remedies on the command line, with commands between backticks.
func Commands(name string) Remedies {
	resume := "run `holdfast destination resume " + name + "`"
	return Remedies{Resume: resume, Retry: resume + " to try at once", Delete: "run `holdfast destination delete " + name + "`"}
}

// NextStep says what an operator can do about a destination; "" if nothing needs doing.
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
