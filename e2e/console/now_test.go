package console

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

func TestNowShowsTheHealth(t *testing.T) {
	t.Parallel()
	holdfast.sent(t, uniqueID("msg"), `{"type":"note"}`, "processed")
	b := newBrowser(t).as(access.RoleViewer)
	require.Equal(t, 200, b.open("/console"))
	b.await("#now", "notifications of failures and outages are off")
	b.await("#now", "purge") // on a slow machine, Temporal answers too late at first
	page := b.page()
	for _, shown := range []string{
		"set HOLDFAST_NOTIFY_URLS", "checks healthy", "Events received", "Temporal queues", "events-dead-letter", "homemade",
		"Schedules", "purge", "in ",
	} {
		require.Contains(t, page, shown)
	}
	require.Equal(t, 8, b.count(`svg[role=img][aria-label]`))
	b.requireAccessible()
	b.await("#tail-state", "following")
	b.click("#pause")
	b.await("#tail-state", "paused")
	require.Equal(t, 200, b.open("/console?window=6h"))
	require.Equal(t, 400, b.open("/console?window=100h"))
}
