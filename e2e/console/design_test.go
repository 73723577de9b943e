package console

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

// The page of an event follows a replay until it ends, without being loaded again.
func TestAReplayedEventIsFollowedUntilItEnds(t *testing.T) {
	t.Parallel()
	id := holdfast.sent(t, uniqueID("msg"), poison, "dead")
	b := newBrowser(t).as(access.RoleOperator)
	b.open("/console/events/" + id)
	require.NotContains(t, b.text(".timeline"), "failed again")
	require.Equal(t, 200, b.submit(`#event form[action$="/replay"] button`))
	b.await(".timeline", "failed again")
	b.await("#status", "dead")
	require.Contains(t, b.text(".timeline"), "by the-operator")
	b.requireAccessible()
}

// Keys go through a list and open a row; colors follow the footer's switch, and stay.
func TestKeysAndColors(t *testing.T) {
	t.Parallel()
	kind := uniqueID("note")
	var ids []string
	for range 2 {
		ids = append(ids, holdfast.sent(t, uniqueID("msg"), `{"type":"`+kind+`"}`, "processed"))
	}
	b := newBrowser(t).as(access.RoleViewer)
	b.open("/console/events?provider=homemade&type=" + kind)
	row := chromedp.Evaluate[string](`document.activeElement.closest("tr")?.id ?? ""`)
	for i, key := range []string{"j", "j", "j", "k"} {
		do(b, chromedp.KeyEvent(key))
		require.Equal(t, "e-"+[]string{ids[1], ids[0], ids[0], ids[1]}[i], do(b, row), "after %d keys", i+1)
	}
	b.lead(chromedp.KeyEvent("\r"))
	require.Equal(t, "/console/events/"+ids[1], b.path())

	dark := chromedp.Evaluate[string](`getComputedStyle(document.documentElement).colorScheme`)
	require.Equal(t, 200, b.submit(`.theme button[value=dark]`))
	require.Equal(t, "/console/events/"+ids[1], b.path(), "the page is the same")
	require.Equal(t, "dark", do(b, dark))
	b.open("/console")
	require.Equal(t, "dark", do(b, dark))
	b.submit(`.theme button[value=""]`)
	require.Equal(t, "light dark", do(b, dark))
}
