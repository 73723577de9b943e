package figures_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/bench/figures"
)

func report() *figures.Report {
	r := &figures.Report{At: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), About: []string{"2 cores", "everything here"}, Options: "pairs 9"}
	r.AddValue("throughput: rate", "/s", nil, 12_345.6)
	r.AddSamples("throughput: ratio", "", figures.AtLeast(0.85), []float64{0.88, 0.9, 0.5, 0.86, 0.86, 0.86, 0.86, 0.86, 0.87, 0.95})
	r.AddValue("latency: p99", "ms", figures.AtMost(40), 50)
	r.Phases = []figures.Phase{
		{
			Name: "throughput",
			Costs: []figures.Cost{{Name: "event", Labels: map[string]float64{
				"PostgreSQL: deliveries": 0.5, "PostgreSQL: fanout": 0.25, "PostgreSQL: temporal": 0.25, "Temporal": 2, "holdfast": 1.5,
			}}},
		},
		{Name: "bulk", Failed: "there is none"},
	}
	return r
}

// The median's interval decides whether a goal is met, goals come first, and each row has the change since the last run.
func TestTheTableBeginsWithTheGoals(t *testing.T) {
	t.Parallel()
	previous := report()
	previous.Figures[2].Value = 100
	var b strings.Builder
	require.NoError(t, report().Print(&b, previous))
	lines := strings.Split(b.String(), "\n")
	require.Regexp(t, `^throughput: ratio +0\.86 +0\.86 – 0\.9 +≥ 0\.85 +met +0\.86 \(\+0 %\)$`, lines[1])
	require.Regexp(t, `^latency: p99 +50 +ms +≤ 40 +missed +100 \(-50 %\)$`, lines[2])
	require.Regexp(t, `^throughput: rate +12,346 +/s`, lines[5])
	require.Contains(t, b.String(), "FAILED bulk: there is none")
}

func TestTheMarkdownHasCostsByProcess(t *testing.T) {
	t.Parallel()
	text := report().Markdown()
	require.Contains(t, text, "| throughput: ratio | 0.86 | 0.86 – 0.9 | ≥ 0.85 | met |")
	require.Contains(t, text, "| CPU, ms for each event | PostgreSQL: Holdfast | PostgreSQL: temporal | Temporal | holdfast | all |")
	require.Contains(t, text, "| throughput: event | 0.75 | 0.25 | 2 | 1.5 | 4.5 |", "the databases of Holdfast are one column")
	require.NotContains(t, text, "fanout")
	require.Contains(t, text, "bulk failed, and its figures are worth nothing: there is none.")
	require.Contains(t, text, "\n2 cores. Everything here. Pairs 9.\n", "a page allows no sentence of all of it")
}

func TestTheNewestReportIsTheOneToCompareWith(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	none, err := figures.Latest(dir)
	require.NoError(t, err)
	require.Nil(t, none)
	older, newer := report(), report()
	newer.At = newer.At.Add(time.Hour)
	newer.Figures[0].Value = 7
	for _, r := range []*figures.Report{newer, older} {
		_, err := r.Save(dir)
		require.NoError(t, err)
	}
	latest, err := figures.Latest(dir)
	require.NoError(t, err)
	v, ok := latest.Value("throughput: rate")
	require.True(t, ok)
	require.InDelta(t, 7, v, 0)
}
