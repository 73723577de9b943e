package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/feed"
	"holdfast/event/oversight"
)

// If the feed is blocked, the doctor names the process that blocks it, and what to do.
func TestTheFeedsBlockerIsNamed(t *testing.T) {
	t.Parallel()
	blockers := []feed.Blocker{
		{PID: 4711, Database: "holdfast", Role: "ada", Application: "psql", Since: time.Unix(1_760_000_000, 0)},
		{Prepared: "tx-7", Database: "other", Role: "eve", Since: time.Unix(1_760_000_000, 0)},
	}
	for behind, want := range map[time.Duration]oversight.CheckResult{
		time.Second: resultOK, 2 * time.Minute: resultWarn, time.Hour: resultFail,
	} {
		d := &doctor{}
		d.reportFeed(feed.Lag{Behind: behind, Blockers: blockers})
		found := d.findings[0]
		require.Equal(t, want, found.Result, behind)
		if want == resultOK {
			require.NotContains(t, found.Detail, "4711")
			continue
		}
		require.Contains(t, found.Detail, "process 4711 (psql of ada in holdfast since 2025-10-09T08:53:20Z)")
		require.Contains(t, found.Detail, `prepared transaction "tx-7" (of eve in other`)
		require.Contains(t, found.Advice, "pg_terminate_backend")
	}
	d := &doctor{}
	d.reportFeed(feed.Lag{Behind: time.Hour})
	require.Contains(t, d.findings[0].Detail, "may not see")
}
