package figures_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/bench/figures"
)

// upTo returns the numbers from 1 to n in random order, so that each is its own rank.
func upTo(n int) []float64 {
	values := make([]float64, n)
	for i, v := range rand.Perm(n) {
		values[i] = float64(v + 1)
	}
	return values
}

// The ranks match the published tables of the sign test.
func TestTheIntervalOfAMedianHasTheRanksOfTheTables(t *testing.T) {
	t.Parallel()
	for n, rank := range map[int]float64{6: 1, 8: 1, 9: 2, 10: 2, 11: 2, 12: 3, 15: 4, 20: 6, 25: 8, 50: 18, 100: 40} {
		got := figures.MedianInterval(upTo(n))
		require.NotNil(t, got, n)
		require.Equal(t, figures.Interval{Low: rank, High: float64(n) + 1 - rank}, *got, n)
	}
}

func TestTooFewSamplesHaveNoInterval(t *testing.T) {
	t.Parallel()
	for n := range 6 {
		require.Nil(t, figures.MedianInterval(upTo(n)), n)
	}
}

// For a skewed distribution with the median 1, intervals of ten samples contain it as often as claimed: in 97.9 % of all cases.
func TestTheIntervalHoldsTheMedianAsOftenAsItSays(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	const cases = 20_000
	held := 0
	for range cases {
		samples := make([]float64, 10)
		for i := range samples {
			u := random.Float64()
			samples[i] = u / (1 - u)
		}
		if got := figures.MedianInterval(samples); got.Low <= 1 && 1 <= got.High {
			held++
		}
	}
	require.InDelta(t, 0.9785, float64(held)/cases, 0.005)
}

func TestSamplesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	samples := upTo(10)
	before := slices.Clone(samples)
	figures.MedianInterval(samples)
	figures.Median(samples)
	require.Equal(t, before, samples)
}

// A goal is met or missed only if the whole interval is on one side; a counted value is its own interval, and too few samples
// have no result.
func TestAVerdictNeedsTheWholeInterval(t *testing.T) {
	t.Parallel()
	around := func(low, high float64) []float64 { // ten samples with the interval [low, high]
		middle := (low + high) / 2
		return []float64{low - 1, low, middle, middle, middle, middle, middle, middle, high, high + 1}
	}
	for name, c := range map[string]struct {
		goal    *figures.Goal
		samples []float64
		want    string
	}{
		"all above a bound below":  {figures.AtLeast(0.75), around(0.76, 0.9), "met"},
		"on a bound below":         {figures.AtLeast(0.75), around(0.75, 0.9), "met"},
		"across a bound below":     {figures.AtLeast(0.75), around(0.7, 0.9), "undecided"},
		"all below a bound below":  {figures.AtLeast(0.75), around(0.5, 0.74), "missed"},
		"reaches a bound below":    {figures.AtLeast(0.75), around(0.5, 0.75), "undecided"},
		"all below a bound above":  {figures.AtMost(1.25), around(1, 1.2), "met"},
		"across a bound above":     {figures.AtMost(1.25), around(1.2, 1.3), "undecided"},
		"all above a bound above":  {figures.AtMost(1.25), around(1.3, 1.4), "missed"},
		"too few, all on one side": {figures.AtMost(1.25), []float64{1, 1, 1, 1, 1}, "undecided"},
		"none at all":              {figures.AtMost(1.25), nil, "undecided"},
		"no goal":                  {nil, around(1, 2), ""},
	} {
		r := &figures.Report{}
		r.AddSamples("x", "", c.goal, c.samples)
		require.Equal(t, c.want, r.Figures[0].Result(), name)
	}
	r := &figures.Report{}
	r.AddValue("counted", "", figures.AtMost(60), 41)
	r.AddValue("counted", "", figures.AtMost(40), 41)
	require.Equal(t, "met", r.Figures[0].Result())
	require.Equal(t, "missed", r.Figures[1].Result())
}
