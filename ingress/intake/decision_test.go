package intake

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	starts = []start{queued, down, busy, probing, started, stuck, confirmed, failed}
	stores = []store{unasked, writing, stored, exhausted}
	clocks = []clock{early, late, over}
)

// One line for each case that differs.
func TestDecisions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why   string
		start start
		store store
		clock clock
		want  action
	}{
		{"a request starts so many of its events at a time", queued, unasked, early, awaitSlot},
		{"a large batch overflows into the inbox", queued, unasked, late, spool},
		{"which fails: Temporal is left", queued, exhausted, late, awaitSlot},
		{"an outage of Temporal costs no wait", down, unasked, early, spool},
		{"nor does one of both", down, exhausted, early, giveUp},
		{"too many starts overflow", busy, unasked, early, spool},
		{"without an inbox everybody waits for Temporal", busy, exhausted, early, insist},
		{"a start has the ACK budget for itself", started, unasked, early, await},
		{"then the inbox is asked as well", started, unasked, late, spoolBeside},
		{"also where Temporal has come to hang", stuck, unasked, late, spoolBeside},
		{"both are under way", started, writing, late, await},
		{"the inbox fails, and the start may still come", started, exhausted, late, await},
		{"unless Temporal hangs", stuck, exhausted, late, giveUp},
		{"no inbox: the start has all the time there is", started, exhausted, early, await},
		{"both count as down: they are asked at once", probing, unasked, early, spoolBeside},
		{"and the start is waited for, for a moment", probing, exhausted, early, await},
		{"until that is over", probing, exhausted, over, giveUp},
		{"a start that fails leaves the inbox", failed, unasked, early, spool},
		{"which may be writing already", failed, writing, late, await},
		{"and no more than that", failed, exhausted, late, giveUp},
		{"the start is first", confirmed, writing, late, answerStart},
		{"also when nobody waits any more", confirmed, unasked, over, answerStart},
		{"the inbox is first", started, stored, late, answerStore},
		{"the time is over", started, writing, over, giveUp},
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
	start start
	store store
	clock clock
}

// outcomes returns the situations that can follow, whatever the stores and the clock do.
func (s situation) outcomes(do action) (next []situation) {
	begun := func(s situation) []situation { // what the breaker can answer
		passes := []situation{{started, s.store, s.clock}, {down, s.store, s.clock}}
		if do == awaitSlot {
			passes = append(passes, situation{busy, s.store, s.clock})
		}
		return append(passes, situation{probing, s.store, s.clock})
	}
	ends := func() { // what can happen during a wait
		if s.start&(probing|started|stuck) != 0 {
			next = append(next, situation{confirmed, s.store, s.clock}, situation{failed, s.store, s.clock})
		}
		if s.store == writing {
			next = append(next, situation{s.start, stored, s.clock}, situation{s.start, exhausted, s.clock})
			if s.start == started && s.clock == late {
				next = append(next, situation{stuck, exhausted, late})
			}
		}
		if s.clock == early && s.store != exhausted {
			next = append(next, situation{s.start, s.store, late})
			if s.start == started {
				next = append(next, situation{stuck, s.store, late})
			}
		}
		next = append(next, situation{s.start, s.store, over})
	}
	switch do {
	case awaitSlot:
		next = begun(s)
		ends()
	case insist:
		next = begun(s)
	case await:
		ends()
	case spool:
		next = []situation{{s.start, stored, s.clock}, {s.start, exhausted, s.clock}}
	case spoolBeside:
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
		case spool, spoolBeside:
			asked++
		case insist:
			begun++
		case answerStart:
			require.Equal(t, confirmed, s.start, way)
		case answerStore:
			require.Equal(t, stored, s.store, way)
		case giveUp:
			left := s.clock != over && (s.store == unasked || s.start&(queued|busy|started|probing) != 0)
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
	walk(situation{queued, unasked, early}, 0, 0, nil)
	walk(situation{queued, exhausted, early}, 0, 0, nil)
	require.Len(t, met, 8, "an action that no way leads to")
}
