package outbox

import (
	"cmp"
	"time"

	"holdfast/delivery"
)

// breaker is the part of a destination's state that the outcomes of attempts change.
type breaker struct {
	state        delivery.BreakerState
	epoch        int64
	failures     int // consecutive
	probesOK     int
	openUntil    *time.Time
	closedAt     *time.Time
	failingSince *time.Time
	failure      string
	// resumeAt is the end of the pause that the destination asked for. busyAnswers counts how often it has asked since its last
	// success; responses during a pause don't count again.
	resumeAt    *time.Time
	busyAnswers int
	// needsProbe means that an attempt has failed since the last success, so the destination is probed. probeAfter is the earliest
	// time of the next probe if a response of this batch had a Retry-After; otherwise nil.
	needsProbe bool
	probeAfter *time.Time
}

// The pauses of a busy destination that doesn't name a duration: the first one, which doubles, and the longest.
const (
	busyPause    = 5 * time.Second
	maxBusyPause = 5 * time.Minute
)

// tally summarizes a batch's outcomes for a destination, in the order in which they ended: those of its current epoch, and busy
// responses of any epoch.
type tally struct {
	ok, bad int
	// trailing counts the failures after the last success.
	trailing int
	// badAt is the end of the first trailing failure, badWhy the reason of the last.
	badAt  time.Time
	badWhy string
	// retryAfter is the longest Retry-After among the trailing failures.
	retryAfter time.Duration
	// busy counts the responses that ask for a pause; pause is the longest of these pauses.
	busy  int
	pause time.Duration
}

func (t *tally) add(s delivery.Outcome) {
	switch s.Kind {
	case delivery.OK:
		t.ok++
		t.trailing, t.retryAfter = 0, 0
	case delivery.Bad, delivery.Slow, delivery.Blocked:
		if t.trailing == 0 {
			t.badAt = s.At.Add(s.Took)
		}
		t.bad++
		t.trailing++
		t.badWhy = why(s.Result)
		t.retryAfter = max(t.retryAfter, min(s.RetryAfter, delivery.MaxRetryAfter))
	case delivery.Busy:
		t.busy++
		t.pause = max(t.pause, min(s.RetryAfter, delivery.MaxRetryAfter))
	case delivery.Final, delivery.Gone, delivery.Ours, delivery.Missing: // they don't show whether the destination is healthy
	}
}

func why(r delivery.Result) string {
	if r.Error == "" {
		return r.Code
	}
	return cmp.Or(r.Code, "error") + ": " + r.Error
}

// after returns the breaker after a batch. It opens after the configured number of consecutive failures, or one failed probe,
// and closes after the configured number of successful probes. Each transition except closing begins an epoch, and outcomes
// of leases from other epochs are ignored, except requests for a pause (lockedDestination.settle): a batch that was in flight
// when the breaker opened neither opens it again nor closes it. Failed connections of a process that is offline arrive as
// delivery.Ours (checkReach in package dispatch) and don't count.
func (b breaker) after(t tally, l limits, now time.Time) breaker {
	b = b.paused(t, now)
	if t.ok+t.bad == 0 {
		return b
	}
	b = b.failing(t, now)
	if t.ok > 0 {
		b.failures = t.trailing
	} else {
		b.failures += t.bad
	}
	switch b.state {
	case delivery.BreakerClosed:
		if b.failures >= l.failures {
			return b.opened(l, now)
		}
	case delivery.BreakerHalfOpen:
		if t.bad > 0 {
			return b.opened(l, now)
		}
		if b.probesOK += t.ok; b.probesOK >= l.probes {
			b.state, b.failures, b.probesOK, b.openUntil, b.closedAt = delivery.BreakerClosed, 0, 0, nil, &now
		}
	case delivery.BreakerOpen: // nothing is leased in its epoch
	}
	return b
}

// paused updates the pause that the destination asks for. Responses that arrive during a pause don't count as another one, but
// may extend it. The first success after the pause resets busyAnswers and begins a slow start.
func (b breaker) paused(t tally, now time.Time) breaker {
	isPaused := b.resumeAt != nil && b.resumeAt.After(now)
	switch {
	case t.busy > 0:
		if !isPaused {
			b.busyAnswers++
		}
		pause := t.pause
		if pause == 0 {
			pause = min(busyPause<<min(b.busyAnswers-1, 10), maxBusyPause)
		}
		if until := now.Add(pause); !isPaused || until.After(*b.resumeAt) {
			b.resumeAt = &until
		}
	case t.ok > 0 && !isPaused && b.busyAnswers > 0:
		b.resumeAt, b.busyAnswers, b.closedAt = nil, 0, &now
	}
	return b
}

func (b breaker) opened(l limits, now time.Time) breaker {
	until := now.Add(l.open)
	b.state, b.epoch, b.probesOK, b.openUntil = delivery.BreakerOpen, b.epoch+1, 0, &until
	return b
}

// failing sets since when and why a destination is failing. The first success clears it; until then the destination is probed.
func (b breaker) failing(t tally, now time.Time) breaker {
	if t.ok > 0 {
		b.failingSince, b.failure, b.needsProbe = nil, "", false
	}
	if t.trailing == 0 {
		return b
	}
	if b.failingSince == nil {
		b.failingSince = &t.badAt
	}
	b.failure, b.needsProbe = t.badWhy, true
	if t.retryAfter > 0 {
		after := now.Add(t.retryAfter)
		b.probeAfter = &after
	}
	return b
}
