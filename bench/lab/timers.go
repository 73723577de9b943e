package lab

import (
	"context"
	"time"
)

// Temporal starts a timer of ten seconds with each workflow task, and doesn't delete it when the task is done. Retention timers
// fire much later.
const nextTimers = `
SELECT coalesce(extract(epoch FROM max(visibility_timestamp) - (now() AT TIME ZONE 'UTC')), 0)::float8
  FROM timer_tasks
 WHERE visibility_timestamp BETWEEN now() AT TIME ZONE 'UTC' AND (now() AT TIME ZONE 'UTC') + interval '10 s'`

// UntilTimers returns how long it takes until all timers of workflow tasks have fired.
func (l *Lab) UntilTimers(ctx context.Context) (time.Duration, error) {
	var seconds float64
	err := l.Ask(ctx, temporalDatabase, &seconds, nextTimers)
	return time.Duration(seconds * float64(time.Second)), err
}
