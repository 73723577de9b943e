package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// Long open runs are a warning and later a failure, if their events aren't stored or their workflow tasks fail; the oldest is
// named with what it waits for, and with the next command. Stored events that are being retried are neither.
func TestOpenRunsThatAreStuck(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_760_000_000, 0)
	run := func(id string, age time.Duration, attempts int) operation.OpenRun {
		return operation.OpenRun{
			Run: event.Run{WorkflowID: "acme:" + id, RunID: "1"}, EventID: id, StartedAt: now.Add(-age), TaskAttempts: attempts,
		}
	}
	stored := map[string]bool{"stored": true, "broken": true}
	for name, c := range map[string]struct {
		runs   []operation.OpenRun
		total  int
		want   oversight.CheckResult
		detail []string
		advice string
	}{
		"none":     {nil, 0, resultOK, []string{"none has been open"}, ""},
		"retried":  {[]operation.OpenRun{run("stored", time.Hour, 0)}, 1, resultOK, []string{"1 stored and being retried; the oldest is acme:stored, its step failed"}, ""},
		"no row":   {[]operation.OpenRun{run("a", 2*time.Minute, 1)}, 1, resultWarn, []string{"1 not stored", "2m: acme:a, its step failed"}, "holdfast event show acme:a"},
		"for long": {[]operation.OpenRun{run("a", time.Hour, 1)}, 1, resultFail, []string{"1 not stored", "acme:a"}, "holdfast event show acme:a"},
		"failing task of a stored event": {
			[]operation.OpenRun{run("broken", time.Hour, 7)}, 1, resultFail, []string{"1 whose workflow task fails", "acme:broken"},
			"temporal workflow describe --workflow-id acme:broken",
		},
		"many": {
			[]operation.OpenRun{run("a", 20*time.Minute, 1), run("b", 30*time.Minute, 1), run("broken", time.Hour, 9), run("stored", 2*time.Hour, 0)},
			10, resultFail,
			[]string{"1 whose workflow task fails, 2 not stored, 1 stored and being retried, 6 not examined", "1h: acme:broken"},
			"temporal workflow describe --workflow-id acme:broken",
		},
	} {
		d := &doctor{}
		d.reportRuns(operation.CountStuck(c.runs, stored, c.total), now, func(operation.OpenRun) string { return "its step failed" })
		found := d.findings[0]
		require.Equal(t, c.want, found.Result, name)
		for _, text := range c.detail {
			require.Contains(t, found.Detail, text, name)
		}
		if c.want != resultOK {
			require.Contains(t, found.Advice, c.advice, name)
		}
	}
}
