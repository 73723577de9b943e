package console

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/operator/api"
)

// attended counts how often the store is asked.
type attended struct {
	api.Statistics

	asked int
	err   error
}

func (a *attended) Attention(context.Context) (oversight.Attention, error) {
	a.asked++
	return oversight.Attention{DeadLetters: 3, FailingDestinations: 1}, a.err
}

// The navigation counts what needs attention, and asks the store once in a few seconds, also while it fails.
func TestCountsOfTheNavigationAreKept(t *testing.T) {
	t.Parallel()
	store := &attended{}
	c := New(Options{API: &api.API{Stats: store}})
	for range 3 {
		require.Equal(t, map[string]int64{"Dead letters": 3, "Destinations": 1}, c.attention(t.Context()))
	}
	require.Equal(t, 1, store.asked)
	store.err = errors.New("down")
	c.counted.Load().at = time.Now().Add(-time.Minute)
	for range 3 {
		require.Empty(t, c.attention(t.Context()))
	}
	require.Equal(t, 2, store.asked)
}

// A page has one figure for one thing: dead letters and destinations are counted by the page, not by the older check.
func TestNowHasOneFigureForOneThing(t *testing.T) {
	t.Parallel()
	since := time.Now().Add(-time.Hour)
	page := nowPage{
		At: time.Now(), DeadLetters: 14, Stats: &oversight.Stats{DeadLetters: []oversight.DeadLetterCount{{Count: 14, Oldest: since}}},
		Bad: []finding{
			{SeenFinding: oversight.SeenFinding{Finding: oversight.Finding{Check: "pooler", Result: "warn"}}},
			{SeenFinding: oversight.SeenFinding{Finding: oversight.Finding{Check: "dead letters", Result: "warn", Detail: "open 9"}}},
		},
	}
	c := New(Options{API: &api.API{}})
	c.addProblems(&page)
	require.Len(t, page.Problems, 2)
	require.Equal(t, "14 open dead letters", page.Problems[0].Title)
	require.Equal(t, "pooler", page.Problems[1].Title)
	require.Equal(t, since, page.Since())
}

// Dead letters that are being replayed need no one: they aren't counted as open, and alone they aren't a problem.
func TestReplayingDeadLettersAreNoProblem(t *testing.T) {
	t.Parallel()
	since := time.Now().Add(-time.Hour)
	stats := &oversight.Stats{DeadLetters: []oversight.DeadLetterCount{
		{State: event.DeadLetterReplaying, Count: 9, Oldest: since.Add(-time.Hour)}, {State: event.DeadLetterOpen, Count: 2, Oldest: since},
		{State: event.DeadLetterExhausted, Count: 1, Oldest: since},
	}}
	c := New(Options{API: &api.API{Stats: counting{stats: *stats}}})
	page := c.now(t.Context(), time.Hour)
	require.EqualValues(t, 3, page.DeadLetters)
	require.Len(t, page.Problems, 1)
	require.Equal(t, "3 open dead letters", page.Problems[0].Title)
	require.Equal(t, "2 causes, listed below", page.Problems[0].Detail)
	require.Equal(t, since, page.Since())
	c = New(Options{API: &api.API{Stats: counting{stats: oversight.Stats{DeadLetters: stats.DeadLetters[:1]}}}})
	require.Empty(t, c.now(t.Context(), time.Hour).Problems)
}

// counting has fixed counts.
type counting struct {
	api.Statistics

	stats oversight.Stats
}

func (c counting) Stats(context.Context, time.Duration) (oversight.Stats, error) { return c.stats, nil }
