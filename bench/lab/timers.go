package lab

import (
	"context"
	"time"
)

// Temporal starts a timer of ten seconds with each workflow task, and doesn't delete it when the task is done. Retention timers
// fire much later.
const nextTimers = `
SELECT coalesce(extract(epoch FROM max(visibility_timestamp) - clock.utc), 0)::float8
  FROM (SELECT now() AT TIME ZONE 'UTC' AS utc) AS clock LEFT JOIN timer_tasks
       ON visibility_timestamp > clock.utc AND visibility_timestamp < clock.utc + interval '10 s'
 GROUP BY clock.utc`

// UntilTimers returns how long it takes until all timers of workflow tasks have fired.
func (l *Lab) UntilTimers(ctx context.Context) (time.Duration, error) {
	var seconds float64
	err := l.Ask(ctx, temporalDatabase, &seconds, nextTimers)
	return time.Duration(seconds * float64(time.Second)), err
}
