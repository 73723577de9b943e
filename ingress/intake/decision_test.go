package intake

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	starts = []startState{queued, down, busy, probing, started, stuck, confirmed, failed}
	stores = []storeState{untried, writing, stored, unavailable}
	clocks = []clockState{inBudget, overBudget, timedOut}
)

// One line for each case that differs.
func TestDecisions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why   string
		start startState
		store storeState
		clock clockState
		want  action
	}{
		{"a request starts so many of its events at a time", queued, untried, inBudget, awaitSlot},
		{"a large batch overflows into the inbox", queued, untried, overBudget, spool},
		{"which fails: Temporal is left", queued, unavailable, overBudget, awaitSlot},
		{"an outage of Temporal costs no wait", down, untried, inBudget, spool},
		{"no inbox and Temporal down: 503", down, unavailable, inBudget, giveUp},
		{"too many starts overflow", busy, untried, inBudget, spool},
		{"without an inbox everybody waits for Temporal", busy, unavailable, inBudget, forceStart},
		{"a start has the ACK budget for itself", started, untried, inBudget, await},
		{"then the inbox is asked as well", started, untried, overBudget, spoolAlongside},
		{"also where Temporal has come to hang", stuck, untried, overBudget, spoolAlongside},
		{"both are under way", started, writing, overBudget, await},
		{"the inbox fails, and the start may still come", started, unavailable, overBudget, await},
		{"unless Temporal hangs", stuck, unavailable, overBudget, giveUp},
		{"no inbox: the start has all the time there is", started, unavailable, inBudget, await},
		{"both count as down: they are asked at once", probing, untried, inBudget, spoolAlongside},
		{"and the start is waited for, for a moment", probing, unavailable, inBudget, await},
		{"until that is over", probing, unavailable, timedOut, giveUp},
		{"a start that fails leaves the inbox", failed, untried, inBudget, spool},
		{"which may be writing already", failed, writing, overBudget, await},
		{"and no more than that", failed, unavailable, overBudget, giveUp},
		{"the start is first", confirmed, writing, overBudget, answerStart},
		{"also when nobody waits any more", confirmed, untried, timedOut, answerStart},
		{"the inbox is first", started, stored, overBudget, answerStore},
		{"the time is over", started, writing, timedOut, giveUp},
	} {
		require.Equal(t, c.want, decide(c.start, c.store, c.clock), c.why)
	}
}

// No rule is hidden by those above it.
func TestEveryRuleHolds(t *testing.T) {
	t.Parallel()
	for i, r := range rules {
		holds := false
		all := rules
		for _, x := range starts {
			for _, y := range stores {
				for _, z := range clocks {
					fits := func(n int) bool { return all[n].start&x != 0 && all[n].store&y != 0 && all[n].clock&z != 0 }
					first := 0
					for !fits(first) {
						first++
					}
					holds = holds || first == i
				}
			}
		}
		require.True(t, holds, "rule %d: %s", i, r.do)
	}
}

// situation is the state of a commit.
type situation struct {
	start startState
	store storeState
	clock clockState
}

// outcomes returns the situations that can follow, whatever the stores and the clock do.
func (s situation) outcomes(do action) (next []situation) {
	begun := func(s situation) []situation { // what the breaker can answer
		admitted := []situation{{started, s.store, s.clock}, {down, s.store, s.clock}}
		if do == awaitSlot {
			admitted = append(admitted, situation{busy, s.store, s.clock}, situation{busy, s.store, timedOut})
		}
		return append(admitted, situation{probing, s.store, s.clock})
	}
	ends := func() { // what can happen during a wait
		if s.start&(probing|started|stuck) != 0 {
			next = append(next, situation{confirmed, s.store, s.clock}, situation{failed, s.store, s.clock})
		}
		if s.store == writing {
			next = append(next, situation{s.start, stored, s.clock}, situation{s.start, unavailable, s.clock})
			if s.start == started && s.clock == overBudget {
				next = append(next, situation{stuck, unavailable, overBudget})
			}
		}
		if s.clock == inBudget && s.store != unavailable {
			next = append(next, situation{s.start, s.store, overBudget})
			if s.start == started {
				next = append(next, situation{stuck, s.store, overBudget})
			}
		}
		next = append(next, situation{s.start, s.store, timedOut})
	}
	switch do {
	case awaitSlot:
		next = begun(s)
		ends()
	case forceStart:
		next = begun(s)
	case await:
		ends()
	case spool:
		next = []situation{{s.start, stored, s.clock}, {s.start, unavailable, s.clock}}
	case spoolAlongside:
		next = []situation{{s.start, writing, s.clock}}
	default: // it has ended
	}
	return next
}

// Every path that a commit can take, with an inbox and without:
//   - it ends
//   - an event is acknowledged only if a store has committed it
//   - it is given up only if its time is over, or if no store is left
//   - no store is asked twice
func TestEveryWayOfACommit(t *testing.T) {
	t.Parallel()
	var walk func(s situation, asked, begun int, way []string)
	met := map[action]bool{}
	walk = func(s situation, asked, begun int, way []string) {
		do := decide(s.start, s.store, s.clock)
		met[do] = true
		way = append(way, fmt.Sprintf("%v: %s", s, do))
		require.Less(t, len(way), 20, "it never ends: %v", way)
		switch do {
		case spool, spoolAlongside:
			asked++
		case forceStart:
			begun++
		case answerStart:
			require.Equal(t, confirmed, s.start, way)
		case answerStore:
			require.Equal(t, stored, s.store, way)
		case giveUp:
			left := s.clock != timedOut && (s.store == untried || s.start&(queued|busy|started|probing) != 0)
			require.False(t, left || s.start == confirmed || s.store == stored, "%v", way)
		default:
		}
		require.LessOrEqual(t, asked, 1, way)
		require.LessOrEqual(t, begun, 1, way)
		next := s.outcomes(do)
		if len(next) == 0 {
			require.Contains(t, []action{answerStart, answerStore, giveUp}, do, way)
		}
		for _, n := range next {
			walk(n, asked, begun, way)
		}
	}
	walk(situation{queued, untried, inBudget}, 0, 0, nil)
	walk(situation{queued, unavailable, inBudget}, 0, 0, nil)
	require.Len(t, met, 8, "an action that no way leads to")
}
