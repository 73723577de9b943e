package persistencetest

import "time"

// Soon follows all that was stored until now, and is no later than this week: a purge up to a time after it also drops the
// partitions of this week, and counts them.
func Soon() time.Time {
	const week = 7 * 24 * time.Hour
	now := time.Now()
	soon, end := now.Add(time.Hour), now.Truncate(week).Add(week-time.Millisecond)
	if soon.After(end) {
		return end
	}
	return soon
}
