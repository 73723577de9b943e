package persistencetest

import "time"

// Soon returns a time after everything stored so far, and before the end of this week. A purge up to a later time would also drop
// this week's partitions, and count them as rows.
func Soon() time.Time {
	const week = 7 * 24 * time.Hour
	now := time.Now()
	soon, end := now.Add(time.Hour), now.Truncate(week).Add(week-time.Millisecond)
	if soon.After(end) {
		return end
	}
	return soon
}
