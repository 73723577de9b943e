package event

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An event that isn't processed yet is shown with what it waits for:
//   - a worker, only if none has its task
//   - the next attempt of a failed step, with the error and the time
//   - an operator, if its workflow task fails, its step is paused, or its worker lacks the definition
func TestARunSaysItsReasonToWait(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	failed := Progress{Step: "persist · attempt 1 of 3", Code: "lock_timeout", Failure: "lock_timeout: table events"}
	with := func(change func(*Progress)) Progress {
		p := failed
		change(&p)
		return p
	}
	for name, c := range map[string]struct {
		p              Progress
		reason, advice string
		retryAt        time.Time
	}{
		"no worker":  {Progress{}, "waiting for a worker", "start `holdfast worker`", time.Time{}},
		"new worker": {Progress{TaskAttempts: 2}, "waiting for a worker", "start `holdfast worker`", time.Time{}},
		"processing": {Progress{TaskStarted: true}, "a worker is processing it", "holdfast doctor", time.Time{}},
		"step runs":  {Progress{Step: "fetch", StepStarted: true}, "a worker is processing it", "holdfast doctor", time.Time{}},
		"broken task": {
			Progress{TaskAttempts: 5, TaskFailure: "no payload key 2026"},
			"its workflow task fails (attempt 5): no payload key 2026", "payload keys", time.Time{},
		},
		"between attempts": {
			with(func(p *Progress) { p.RetryAt = now.Add(5 * time.Second) }),
			"its step failed (persist · attempt 1 of 3), and runs again in 5s, at 2026-11-28T12:00:05Z: lock_timeout: table events",
			"fix the cause", now.Add(5 * time.Second),
		},
		"due": {
			with(func(p *Progress) { p.RetryAt = now.Add(-time.Second) }),
			"its step failed (persist · attempt 1 of 3), and waits for a worker to run it again: lock_timeout: table events",
			"start `holdfast worker`", time.Time{},
		},
		"running again": {
			with(func(p *Progress) { p.StepStarted = true }),
			"its step failed (persist · attempt 1 of 3), and is running again: lock_timeout: table events", "fix the cause", time.Time{},
		},
		"paused": {
			with(func(p *Progress) { p.StepPaused = true }),
			"its step (persist · attempt 1 of 3) is paused in Temporal: lock_timeout", "temporal activity unpause", time.Time{},
		},
		"no definition": {
			with(func(p *Progress) { p.Code, p.StepStarted = CodeUnknownProvider, true }),
			"is running again", "HOLDFAST_PROVIDERS_DIR", time.Time{},
		},
	} {
		wait := c.p.Wait("acme:1", now)
		require.Contains(t, wait.Reason, c.reason, name)
		require.Contains(t, wait.Advice, c.advice, name)
		require.Equal(t, c.retryAt, wait.RetryAt, name)
		require.Equal(t, c.p.Failure, wait.Error, name)
	}
}
