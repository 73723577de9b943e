package outbox

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

// The outcome of an attempt counts only in the epoch in which it was leased: one that was in flight when the breaker changed
// neither opens it again nor closes it, and doesn't change since when the destination is failing. A pause that the destination
// asks for always counts, and so does the response that it is gone.
func TestAnOutcomeOfAnotherEpochChangesNothing(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	const isClosed, isOpen, isHalf = delivery.BreakerClosed, delivery.BreakerOpen, delivery.BreakerHalfOpen
	l := limits{failures: 5, probes: 3, open: 30 * time.Second}
	closed := breaker{state: isClosed, epoch: 7, failures: 4}
	half := breaker{state: isHalf, epoch: 7, failures: 5, probesOK: 2}
	failing := breaker{state: isClosed, epoch: 7, failures: 1, failingSince: &now, failure: "503", needsProbe: true}
	for name, c := range map[string]struct {
		was      breaker
		kind     delivery.Kind
		epoch    int64
		state    delivery.BreakerState
		changes  bool // whether the breaker changes
		disabled bool
		recovers bool
	}{
		"a failure opens":                    {was: closed, kind: delivery.Bad, epoch: 7, state: isOpen, changes: true},
		"a failure of an earlier epoch":      {was: closed, kind: delivery.Bad, epoch: 6, state: isClosed},
		"a failure of a later epoch":         {was: closed, kind: delivery.Bad, epoch: 8, state: isClosed},
		"a probe closes":                     {was: half, kind: delivery.OK, epoch: 7, state: isClosed, changes: true},
		"a success of an earlier epoch":      {was: half, kind: delivery.OK, epoch: 6, state: isHalf},
		"a failure under way when it probes": {was: half, kind: delivery.Slow, epoch: 6, state: isHalf},
		"failing ends":                       {was: failing, kind: delivery.OK, epoch: 7, state: isClosed, changes: true, recovers: true},
		"failing goes on":                    {was: failing, kind: delivery.OK, epoch: 6, state: isClosed},
		"busy pauses":                        {was: closed, kind: delivery.Busy, epoch: 7, state: isClosed, changes: true},
		"busy of an earlier epoch pauses":    {was: closed, kind: delivery.Busy, epoch: 6, state: isClosed, changes: true},
		"gone of an earlier epoch":           {was: closed, kind: delivery.Gone, epoch: 6, state: isClosed, disabled: true},
		"final says nothing of the receiver": {was: closed, kind: delivery.Final, epoch: 7, state: isClosed},
		"our own fault says nothing, either": {was: closed, kind: delivery.Ours, epoch: 7, state: isClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := lockedDestination{id: 1, was: c.was, is: c.was, state: delivery.DestinationReady}
			s := delivery.Outcome{Result: delivery.Result{Kind: c.kind, Code: "503", At: now}, DueAt: now.Add(time.Minute)}
			s.DestinationID, s.Epoch = 1, c.epoch
			other := s
			other.DestinationID, other.Epoch, other.Kind = 2, 7, delivery.Bad
			d.settle([]delivery.Outcome{other, s, other}, l, now)
			require.Equal(t, c.state, d.is.state)
			require.Equal(t, c.changes, d.is != d.was)
			require.Equal(t, c.disabled, d.disabled != "")
			require.Equal(t, c.recovers, d.recovers)
		})
	}
}

// A destination is due when its first retry is due, and immediately if it has recovered.
func TestADestinationIsLookedAtWhenItsFirstRetryIsDue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	of := func(kind delivery.Kind, due time.Duration, dead bool) delivery.Outcome {
		s := delivery.Outcome{Result: delivery.Result{Kind: kind, At: now}, DueAt: now.Add(due), Dead: dead}
		s.DestinationID = 1
		return s
	}
	bad, ours := delivery.Bad, delivery.Ours
	for name, c := range map[string]struct {
		needsProbe bool
		settled    []delivery.Outcome
		due        time.Duration // negative: nothing is retried
	}{
		"the earliest":   {settled: []delivery.Outcome{of(bad, 3, false), of(bad, 2, false), of(ours, 9, false)}, due: 2},
		"what has ended": {settled: []delivery.Outcome{of(bad, 3, true), of(delivery.OK, 2, false)}, due: -1},
		"gone waits":     {settled: []delivery.Outcome{of(delivery.Gone, 5, true)}, due: 5},
		"recovered":      {needsProbe: true, settled: []delivery.Outcome{of(bad, 3, false), of(delivery.OK, 0, false)}, due: 0},
		"not recovered":  {needsProbe: true, settled: []delivery.Outcome{of(bad, 3, false)}, due: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := lockedDestination{id: 1, was: breaker{state: delivery.BreakerClosed, needsProbe: c.needsProbe}}
			d.settle(c.settled, limits{failures: 5, probes: 3}, now)
			if c.due < 0 {
				require.Nil(t, d.retryAt)
				return
			}
			require.NotNil(t, d.retryAt)
			require.Equal(t, c.due, d.retryAt.Sub(now))
		})
	}
}
