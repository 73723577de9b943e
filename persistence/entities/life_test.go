package entities

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// at returns a position in a timeline without versions.
func at(hour int, eventID string) event.Order {
	return event.Order{OccurredAt: time.Date(2026, 11, 25, hour, 0, 0, 0, time.UTC), EventID: eventID}
}

// Which changes have no effect, and which are applied on top of the state, by their position:
//   - up to and including the base, a change is collapsed; right after it, it is not
//   - before the last reset a change has no effect; changes of the reset's own event have one
//   - the reset of an entity written by a release without counts is not relied on
func TestAChangeShowsFromTheBaseAndTheLastResetOn(t *testing.T) {
	t.Parallel()
	based := Life{isKnown: true, base: at(5, "e"), Entity: event.Entity{Last: at(9, "e")}}
	reset := Life{isKnown: true, reset: at(5, "e"), Entity: event.Entity{Last: at(9, "e")}}
	unknown := Life{reset: at(5, "e"), Entity: event.Entity{Last: at(9, "e")}}
	for name, c := range map[string]struct {
		life                      Life
		place                     event.Order
		covered, ignored, appends bool
	}{
		"before the base":                    {life: based, place: at(4, "x"), covered: true, ignored: true},
		"at the base, of an earlier event":   {life: based, place: at(5, "d"), covered: true, ignored: true},
		"the last event of the base":         {life: based, place: at(5, "e"), covered: true, ignored: true},
		"at the base, of a later event":      {life: based, place: at(5, "f")},
		"after the base":                     {life: based, place: at(6, "a")},
		"after a base, the last event again": {life: based, place: at(9, "e"), appends: true},
		"after the last event":               {life: based, place: at(9, "f"), appends: true},
		"before the reset":                   {life: reset, place: at(5, "d"), ignored: true},
		"the event of the reset":             {life: reset, place: at(5, "e")},
		"after the reset":                    {life: reset, place: at(5, "f")},
		"before a reset that isn't known":    {life: unknown, place: at(5, "d")},
		"the first change of all":            {life: *newLife(event.EntityRef{}), place: at(0, "a"), appends: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.covered, c.life.Covers(c.place), "covered by the base")
			require.Equal(t, c.ignored, c.life.ignores(c.place), "shows in nothing")
			require.Equal(t, c.appends, c.life.appends(c.place), "goes on top")
		})
	}
}

// A touch is folded from the first position with an effect. Changes moved from within the base count from the base on.
func TestATouchIsFoldedFromTheFirstPlaceThatShows(t *testing.T) {
	t.Parallel()
	l := &Life{isKnown: true, base: at(5, "e"), Entity: event.Entity{Last: at(9, "e")}}
	change := func(o event.Order) event.OrderedChange {
		return event.OrderedChange{Order: o, Change: event.Change{Op: event.OpPatch, State: []byte(`{"n":1}`)}}
	}
	for name, c := range map[string]struct {
		touch Touch
		come  int
		from  event.Order
		late  bool
	}{
		"on top":                   {Touch{Come: []event.OrderedChange{change(at(9, "f"))}}, 1, at(9, "f"), false},
		"late":                     {Touch{Come: []event.OrderedChange{change(at(9, "f")), change(at(6, "a"))}}, 2, at(6, "a"), true},
		"at the base":              {Touch{Come: []event.OrderedChange{change(at(5, "e"))}}, 0, event.Order{}, false},
		"one goes":                 {Touch{Gone: []event.OrderedChange{change(at(9, "e"))}}, 0, at(9, "e"), true},
		"one goes from the base":   {Touch{Gone: []event.OrderedChange{change(at(5, "e"))}}, 0, event.Order{}, false},
		"moved within the base":    {Touch{Moved: at(4, "a")}, 0, at(5, "e"), true},
		"moved from the base's":    {Touch{Moved: at(5, "e")}, 0, at(5, "e"), true},
		"moved, and one before it": {Touch{Moved: at(8, "a"), Come: []event.OrderedChange{change(at(7, "a"))}}, 1, at(7, "a"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			come, from := c.touch.shows(l)
			require.Len(t, come, c.come)
			require.Equal(t, c.from, from)
			require.Equal(t, c.late, c.touch.mustRefold(l, from))
		})
	}
}

// Few of the checkpoints are kept: for each distance there is one before the newest that is at least as far away, and at most
// three times as far.
func TestCheckpointsAreKeptAtEveryDistance(t *testing.T) {
	t.Parallel()
	require.True(t, isKept(12, 19), "for twice as long as four, which divides it")
	require.False(t, isKept(12, 20))
	kept := []int64{}
	for newest := int64(1); newest <= 2000; newest++ {
		var left []int64
		for _, n := range kept {
			if isKept(n, newest) {
				left = append(left, n)
			}
		}
		require.LessOrEqual(t, len(kept)-len(left), 1, "a new one removes one at most")
		kept = append(left, newest)
		require.LessOrEqual(t, len(kept), 24)
		for distance := int64(1); 3*distance < newest; distance *= 2 {
			found := false
			for _, n := range kept {
				found = found || newest-n >= distance && newest-n <= 3*distance
			}
			require.True(t, found, "%d before %d", distance, newest)
		}
	}
}
