package dispatch

import (
	"math/rand/v2"
	"time"

	"holdfast/delivery"
	"holdfast/event"
)

// The pauses after an attempt that counts nowhere.
const (
	oursPause   = time.Minute
	cutOffPause = 10 * time.Second
	awayPause   = time.Second // at least; see pauseOfOurs
	memoryPause = time.Second
)

// The codes of results that no sender has given.
const (
	codePanic   = "panic"
	codeStopped = "stopped"
	codeCutOff  = "cut_off"
	codeMemory  = "memory" // too much is held for it to be read
	codeUnread  = "unread" // what is stored cannot be used
	codeAway    = "away"   // what is stored could not be asked for
)

// judge says what becomes of a delivery after an attempt: it has ended, is dead, or is tried again, and when.
func judge(d delivery.Destination, j delivery.Job, r delivery.Result, now time.Time) delivery.Settled {
	s := delivery.Settled{Job: j, Result: r, DueAt: now}
	switch {
	case r.Kind == delivery.Final:
		s.Dead = true
	case !j.WaitsUntil.IsZero():
		s.DueAt = j.WaitsUntil // a probe that fails, for whatever reason, doesn't move the schedule
	case r.Kind == delivery.Bad || r.Kind == delivery.Slow:
		policy, n := d.Policy(), j.Attempts+1
		s.Dead = n >= policy.Attempts
		s.DueAt = now.Add(max(spread(policy.Pause(n), policy.Jitter), min(r.RetryAfter, delivery.MaxRetryAfter)))
	case r.Kind == delivery.Ours:
		s.DueAt = now.Add(pauseOfOurs(r))
	} // what is busy waits for its destination
	return s
}

// pauseOfOurs is short where the database was away for a moment: its outcome could be settled, so it is there again. It is four
// times what a read took that has failed, so that one which always fails late has a fifth of the time for itself.
func pauseOfOurs(r delivery.Result) time.Duration {
	switch r.Code {
	case codeStopped, delivery.CodeMissed:
		return 0
	case codeCutOff:
		return spread(event.Duration(cutOffPause), 0.5)
	case codeMemory:
		return spread(event.Duration(memoryPause), 0.5)
	case codeAway:
		return spread(event.Duration(min(max(awayPause, 4*r.Took), oursPause)), 0.5)
	default:
		return spread(event.Duration(oursPause), 0.5)
	}
}

// spread is a pause ± a share of it, so that what has failed together does not come back together.
func spread(pause event.Duration, share float64) time.Duration {
	return time.Duration(float64(pause) * (1 + share*(2*rand.Float64()-1))) //nolint:gosec // it is no secret
}

// unreached are the codes of attempts that found nobody to talk to. One that timed out may have found somebody who doesn't
// answer.
func unreached(r delivery.Result) bool {
	switch r.Code {
	case "connection", "dns", "unavailable":
		return r.Kind == delivery.Bad || r.Kind == delivery.Slow
	default:
		return false
	}
}
