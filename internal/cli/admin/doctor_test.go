package admin

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/internal/cli"
	"holdfast/internal/doctor"
)

// onTerminal returns what a command prints on a terminal of 80 columns.
func onTerminal(t *testing.T, wide bool, write func(io.Writer) error) string {
	t.Helper()
	t.Setenv("COLUMNS", "80")
	var out bytes.Buffer
	c := &cobra.Command{}
	cli.AddWideFlag(c)
	cli.AddJSONFlag(c)
	require.NoError(t, c.ParseFlags(map[bool][]string{true: {"--wide"}}[wide]))
	c.SetOut(&out)
	require.NoError(t, cli.Print(c, nil, write))
	return out.String()
}

// A terminal shows what needs attention, and healthy checks by name.
func TestHealthyChecksAreGrouped(t *testing.T) {
	report := doctor.Report{Findings: []oversight.Finding{
		{Check: "database", Result: "ok", Detail: "PostgreSQL 18"}, {Check: "inbox", Result: "warn", Detail: "7 wait", Advice: "look"},
		{Check: "temporal", Result: "ok", Detail: "reachable"},
	}}
	write := func(w io.Writer) error { return writeReport(w, report) }
	short := onTerminal(t, false, write)
	require.Regexp(t, `(?s)^warn  inbox +7 wait\n.*look\nok    database, temporal \(--wide shows details\)\n1 of 3 checks`, short)
	require.Contains(t, onTerminal(t, true, write), "PostgreSQL 18")
}

// The rates of queues have columns of different names.
func TestColumnsOfQueuesHaveNames(t *testing.T) {
	s := oversight.Stats{Queues: []oversight.QueueStats{{Queue: "events"}}}
	shown := onTerminal(t, false, func(w io.Writer) error { return writeStats(w, s) })
	require.Regexp(t, `QUEUE +BACKLOG +AGE +IN PER S +OUT PER S +POLLERS`, shown)
}

// The results of the last day's events are lines as wide as the terminal: one for each result that there was.
func TestTheLastDayIsPlotted(t *testing.T) {
	noon := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	day := &oversight.EventHistory{Buckets: []oversight.EventBucket{{At: noon, Processed: 1, Dead: 1}, {At: noon.Add(time.Hour), Processed: 800}}}
	day.Since, day.Until, day.Step = noon, noon.Add(4*time.Hour), event.Duration(time.Hour)
	shown := onTerminal(t, false, func(w io.Writer) error { return writeStats(w, oversight.Stats{LastDay: day}) })
	each := (80 - len("processed ") - len(" peak 800")) / 4
	require.Contains(t, shown, "PER 1h\nprocessed "+strings.Repeat("▁", each)+strings.Repeat("█", each)+strings.Repeat(" ", 2*each)+" peak 800\n")
	require.Regexp(t, `\ndead      █+ +peak 1\n`, shown)
	require.NotContains(t, shown, "ignored")
	wide := onTerminal(t, true, func(w io.Writer) error { return writeStats(w, oversight.Stats{LastDay: day}) })
	require.Contains(t, wide, "\nprocessed ▁█   peak 800\n")
	require.NotContains(t, onTerminal(t, false, func(w io.Writer) error { return writeStats(w, oversight.Stats{}) }), "EVENTS BY")
}
