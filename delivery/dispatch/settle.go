package dispatch

import (
	"math/rand/v2"
	"time"

	"holdfast/delivery"
	"holdfast/event"
)

// Pauses after an attempt that doesn't count.
const (
	internalPause       = time.Minute
	offlinePause        = 10 * time.Second
	minUnavailablePause = time.Second // minimum; see uncountedPause
	memoryPause         = time.Second
)

// Codes of results that don't come from a sender.
const (
	codePanic       = "panic"
	codeStopped     = "stopped"
	codeOffline     = "network_down"
	codeMemory      = "memory"            // not enough memory for the body
	codeUnreadable  = "unreadable"        // the stored data can't be used
	codeUnavailable = "store_unavailable" // the database can't be reached
)

// settle decides whether a delivery has ended, is dead, or is retried, and when.
func settle(d delivery.Destination, j delivery.Job, r delivery.Result, now time.Time) delivery.Outcome {
	s := delivery.Outcome{Job: j, Result: r, DueAt: now}
	switch {
	case r.Kind == delivery.Final:
		s.Dead = true
	case !j.WaitsUntil.IsZero():
		s.DueAt = j.WaitsUntil // a failed probe doesn't move the schedule
	case r.Kind == delivery.Bad || r.Kind == delivery.Slow || r.Kind == delivery.Missing:
		policy, n := d.Policy(), j.Attempts+1
		s.Dead = n >= policy.Attempts
		s.DueAt = now.Add(max(spread(policy.Pause(n), policy.Jitter), min(r.RetryAfter, delivery.MaxRetryAfter)))
	case r.Kind == delivery.Ours || r.Kind == delivery.Blocked:
		s.DueAt = now.Add(uncountedPause(r))
	} // Busy: the destination is paused
	return s
}

// uncountedPause returns the pause after an attempt that failed on our side. After a database outage it is short, since the
// result could be settled. It is four times the duration of the failed read, so that reads that keep timing out use at most a
// fifth of the time.
func uncountedPause(r delivery.Result) time.Duration {
	switch r.Code {
	case codeStopped, delivery.CodeLateStart:
		return 0
	case codeOffline, delivery.CodeProxy:
		return spread(event.Duration(offlinePause), 0.5)
	case codeMemory:
		return spread(event.Duration(memoryPause), 0.5)
	case codeUnavailable:
		return spread(event.Duration(min(max(minUnavailablePause, 4*r.Took), internalPause)), 0.5)
	default:
		return spread(event.Duration(internalPause), 0.5)
	}
}

// spread randomizes a pause by ± share, so that deliveries that failed together aren't retried together.
func spread(pause event.Duration, share float64) time.Duration {
	return time.Duration(float64(pause) * (1 + share*(2*rand.Float64()-1))) //nolint:gosec // jitter isn't a secret
}
