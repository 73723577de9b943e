package workflows

import (
	"fmt"
	"time"

	"holdfast/activities/background"
	"holdfast/delivery"
)

// alert is an escalation level of a failing destination. Each is sent once, and never after a higher one.
type alert string

// The alerts; their values are error codes.
const (
	alertFailing   alert = "destination_failing"
	alertReminder  alert = "destination_still_failing"
	alertWarning   alert = "destination_disabled_soon"
	alertDisabled  alert = "destination_disabled"
	alertRecovered alert = "destination_recovered"
)

const (
	// reminderAfter is when a reminder is sent.
	reminderAfter = time.Hour
	// warnBefore is how long before disabling the destination a warning is sent; half of disableAfter if that is shorter.
	warnBefore = 24 * time.Hour
)

// level orders the alerts during a failure.
func (a alert) level() int {
	switch a {
	case alertFailing:
		return 1
	case alertReminder:
		return 2
	case alertWarning:
		return 3
	default:
		return 0
	}
}

func warnAt(since time.Time, disableAfter time.Duration) time.Time {
	return since.Add(max(disableAfter-warnBefore, disableAfter/2))
}

// alertAt returns the current alert of a failure, and when the next one is due.
func alertAt(since time.Time, disableAfter time.Duration, now time.Time) (alert, time.Time) {
	warn, still, end := warnAt(since, disableAfter), since.Add(reminderAfter), since.Add(disableAfter)
	switch {
	case !now.Before(warn):
		return alertWarning, end
	case !now.Before(still):
		return alertReminder, warn
	case still.Before(warn):
		return alertFailing, still
	default:
		return alertFailing, warn
	}
}

// outcomeOf returns how a failure ended and the alert to send, if any. over is false while it continues.
func outcomeOf(check background.DestinationCheck, since time.Time) (outcome string, notify alert, over bool) {
	c := check.Condition
	switch {
	case check.Deleted:
		return "deleted", "", true
	case c.State == delivery.DestinationDisabled && c.By == background.SystemActor:
		return "disabled", alertDisabled, true
	case c.State == delivery.DestinationDisabled:
		return "disabled", "", true // an operator disabled it: no alert needed
	case c.FailingSince != nil:
		return "", "", false
	case c.State == delivery.DestinationReady && c.StateAt.After(since):
		return "resumed", "", true // a further failure starts a new watch
	default:
		return "recovered", alertRecovered, true
	}
}

func alertText(a alert, name string, c delivery.Condition, disableAfter time.Duration) string {
	waits := fmt.Sprintf("%d deliveries pending", c.Waiting+c.Retrying)
	switch {
	case a == alertRecovered && c.State == delivery.DestinationPaused:
		return fmt.Sprintf("destination %s accepts deliveries again but is still paused; %s", name, waits)
	case a == alertRecovered:
		return fmt.Sprintf("destination %s accepts deliveries again; %s", name, waits)
	case a == alertDisabled:
		return fmt.Sprintf("destination %s is disabled: %s; %s", name, c.Reason, waits)
	case c.FailingSince == nil:
		return fmt.Sprintf("destination %s is failing; %s", name, waits)
	}
	return fmt.Sprintf("destination %s has been failing since %s: %s; %s; it will be disabled at %s unless it recovers", name,
		c.FailingSince.UTC().Format(time.RFC3339), c.Failure, waits, c.FailingSince.Add(disableAfter).UTC().Format(time.RFC3339))
}
