package workflows

import (
	"fmt"
	"time"

	"holdfast/activities/operations"
	"holdfast/delivery"
)

// rung is what people are told of a receiver in trouble. Each is told once, and none after a higher one.
type rung string

// The rungs, as codes of what is told.
const (
	rungTrouble   rung = "receiver_in_trouble"
	rungStill     rung = "receiver_still_in_trouble"
	rungBefore    rung = "receiver_before_disabled"
	rungDisabled  rung = "receiver_disabled"
	rungRecovered rung = "receiver_recovered"
)

const (
	// stillAfter is after how long it is told once more.
	stillAfter = time.Hour
	// warnBefore is how long before a destination is disabled this is told; half of the time where that is shorter.
	warnBefore = 24 * time.Hour
)

// height orders the rungs of a trouble that lasts.
func (r rung) height() int {
	switch r {
	case rungTrouble:
		return 1
	case rungStill:
		return 2
	case rungBefore:
		return 3
	default:
		return 0
	}
}

// warnAt is when it is told that a destination is about to be disabled.
func warnAt(since time.Time, disableAfter time.Duration) time.Time {
	return since.Add(max(disableAfter-warnBefore, disableAfter/2))
}

// climb is the rung of a trouble that lasts, and when the next one may be reached.
func climb(since time.Time, disableAfter time.Duration, now time.Time) (rung, time.Time) {
	warn, still, end := warnAt(since, disableAfter), since.Add(stillAfter), since.Add(disableAfter)
	switch {
	case !now.Before(warn):
		return rungBefore, end
	case !now.Before(still):
		return rungStill, warn
	case still.Before(warn):
		return rungTrouble, still
	default:
		return rungTrouble, warn
	}
}

// ending is how the trouble has ended, and what people are told of that: "" is nothing. Over is false while it lasts.
func ending(look operations.ReceiverLook, since time.Time) (outcome string, tell rung, over bool) {
	c := look.Condition
	switch {
	case look.Gone:
		return "deleted", "", true
	case c.State == delivery.DestinationDisabled && c.By == operations.ByItself:
		return "disabled", rungDisabled, true
	case c.State == delivery.DestinationDisabled:
		return "disabled", "", true // whoever did so knows
	case c.TroubleSince != nil:
		return "", "", false
	case c.State == delivery.DestinationReady && c.StateAt.After(since):
		return "resumed", "", true // its trouble begins anew, if there is one
	default:
		return "recovered", rungRecovered, true
	}
}

// newsOf says a rung to a person.
func newsOf(r rung, name string, c delivery.Condition, disableAfter time.Duration) string {
	waits := fmt.Sprintf("%d of its deliveries wait", c.Waiting+c.Retrying)
	switch {
	case r == rungRecovered && c.State == delivery.DestinationPaused:
		return fmt.Sprintf("destination %s takes deliveries again; it is still paused; %s", name, waits)
	case r == rungRecovered:
		return fmt.Sprintf("destination %s takes deliveries again; %s", name, waits)
	case r == rungDisabled:
		return fmt.Sprintf("destination %s is disabled: %s; %s", name, c.Reason, waits)
	case c.TroubleSince == nil:
		return fmt.Sprintf("destination %s is in trouble; %s", name, waits)
	}
	return fmt.Sprintf("destination %s has been in trouble since %s: %s; %s; it is disabled at %s unless it recovers", name,
		c.TroubleSince.UTC().Format(time.RFC3339), c.Trouble, waits, c.TroubleSince.Add(disableAfter).UTC().Format(time.RFC3339))
}
