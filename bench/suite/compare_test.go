package suite

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

// course returns a suite on a machine whose host steals the given share of each successive measured slice, and then nothing;
// and two sides that record their calls. Side b is half as fast as a.
func course(pairs int, stolen ...int64) (s *Suite, sides []Side, asked *strings.Builder) {
	var now lab.MachineTime
	looks, asked := 0, &strings.Builder{}
	s = &Suite{Options: Options{Pairs: pairs}, progress: io.Discard, Phase: &figures.Phase{}}
	s.machineTime = func() lab.MachineTime {
		if looks++; looks%2 == 0 { // the end of a slice
			now.All += 100
			if n := looks/2 - 1; n < len(stolen) {
				now.Stolen += stolen[n]
			}
		}
		return now
	}
	for name, rate := range map[string]float64{"a": 100, "b": 50} {
		sides = append(sides, Side{name, func(context.Context) (Slice, error) {
			asked.WriteString(name)
			return Slice{Rate: rate, Cost: map[string]float64{lab.LabelTemporal: 2}}, nil
		}})
	}
	if sides[0].Name == "b" {
		sides[0], sides[1] = sides[1], sides[0]
	}
	return s, sides, asked
}

func TestSidesWarmUpAndTakeTurnsInBothOrders(t *testing.T) {
	t.Parallel()
	s, sides, asked := course(4)
	got, err := s.Alternate(t.Context(), sides...)
	require.NoError(t, err)
	require.Equal(t, "ab"+"ab"+"ba"+"ab"+"ba", asked.String())
	require.Equal(t, []float64{0.5, 0.5, 0.5, 0.5}, got.Ratios("b", "a", RateOf))
	require.Len(t, s.Phase.Slices, 8, "but for those that warmed up")
	require.Len(t, s.Phase.Costs, 2)
	require.InDelta(t, 2, s.Phase.Costs[0].Total(), 1e-9)
}

// A slice with more than a twentieth stolen is repeated at once, and both are in the report.
func TestASliceThatWasStolenFromIsTakenAgain(t *testing.T) {
	t.Parallel()
	s, sides, asked := course(4, 0, 6, 5)
	got, err := s.Alternate(t.Context(), sides...)
	require.NoError(t, err)
	require.Equal(t, "ab"+"abb"+"ba"+"ab"+"ba", asked.String())
	require.Len(t, got.Ratios("b", "a", RateOf), 4)
	var kept []bool
	for _, one := range s.Phase.Slices[:3] {
		kept = append(kept, one.Kept)
	}
	require.Equal(t, []bool{true, false, true}, kept)
	require.InDelta(t, 0.06, s.Phase.Slices[1].Stolen, 1e-9)
}

// There are half as many repeats as pairs; after that a pair is missing, and its other side has no partner.
func TestAPairIsMissingWhereTheHostStealsOnAndOn(t *testing.T) {
	t.Parallel()
	s, sides, asked := course(4, 0, 50, 50, 50)
	got, err := s.Alternate(t.Context(), sides...)
	require.NoError(t, err)
	require.Equal(t, "ab"+"abbb"+"ba"+"ab"+"ba", asked.String())
	require.Len(t, got.Ratios("b", "a", RateOf), 3)
	require.Len(t, got.Values("a", RateOf), 4)
	require.Len(t, got.Values("b", RateOf), 3)
}
