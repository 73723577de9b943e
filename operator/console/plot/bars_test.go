package plot

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A bar is as high as its share of the highest one, its parts lie on each other, and a single failure stays visible.
func TestBarsAreStacked(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	chart := Bars{
		Parts: []Part{{"processed", "good"}, {"dead", "bad"}}, Since: noon, Until: noon.Add(2 * time.Hour), Step: 30 * time.Minute,
		Bars: []Bar{
			{At: noon, Counts: []int64{1_000_000, 0}, Path: "/a?b"}, {At: noon.Add(90 * time.Minute), Counts: []int64{500_000, 1}},
		},
	}
	require.Equal(t, 40, chart.Width())
	require.EqualValues(t, 1_000_000, chart.Most())
	require.Equal(t, []DrawnBar{
		{
			Path: "/a?b", Text: "25 Nov 12:00–12:30 UTC: 1\u202f000\u202f000 processed", Column: "M0 0h10v80h-10z",
			Parts: []DrawnPart{{"good", "M1 80.0v-78.0h8v78.0z"}},
		},
		{
			Text: "25 Nov 13:30–14:00 UTC: 500\u202f000 processed, 1 dead", Column: "M30 0h10v80h-10z",
			Parts: []DrawnPart{{"good", "M31 80.0v-40.0h8v40.0z"}, {"bad", "M31 40.0v-2.0h8v2.0z"}},
		},
	}, chart.Drawn())
	require.Equal(t, "25 Nov UTC", Bars{Step: 24 * time.Hour}.period(noon))
	require.Empty(t, Bars{}.Drawn())
}
