package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
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

// Of ordered deliveries, the doctor reports what delays them, and which subscription has a blocked key.
func TestBlockedOrdersAreReported(t *testing.T) {
	t.Parallel()
	d := &doctor{}
	d.reportOrder(delivery.OrderBacklog{OldestHead: time.Minute, OldestUnsorted: time.Second}, nil)
	require.Empty(t, d.findings, "a minute is no reason")

	d.reportOrder(delivery.OrderBacklog{
		Blocked: 2, OldestHead: time.Hour, OldestUnsorted: 20 * time.Minute, Examples: []string{"crm", "shop"},
	}, []feed.Blocker{{PID: 4711, Database: "holdfast", Role: "ada", Application: "psql", Since: time.Unix(1_760_000_000, 0)}})
	require.Len(t, d.findings, 2)
	require.Equal(t, resultFail, d.findings[0].Result)
	require.Contains(t, d.findings[0].Detail, "process 4711 (psql of ada")
	require.Equal(t, resultWarn, d.findings[1].Result)
	require.Contains(t, d.findings[1].Detail, "crm, shop")
	require.Contains(t, d.findings[1].Advice, "holdfast subscription order NAME")
}
