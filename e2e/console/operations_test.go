package console

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

// A rebuild begins with a dry run, which shows what would change; a real one asks for confirmation.
func TestARebuildBeginsWithADryRun(t *testing.T) {
	t.Parallel()
	holdfast.sent(t, uniqueID("msg"), `{"id":"rebuilt","type":"note"}`, "processed")
	b := newBrowser(t).as(access.RoleOperator)
	b.open("/console/operations")
	b.submit(`.heading a[href$="/rebuild"]`)
	b.requireAccessible()
	b.fill("#provider", "homemade")
	b.fill("#rate", "-1")
	require.Equal(t, 400, b.submit("button[value=true]"))
	b.open("/console/operations/rebuild")
	b.fill("#provider", "homemade")
	b.fill("#rate", "10000")
	b.submit("button[value=true]")
	require.Equal(t, "Dry run of a rebuild · Holdfast", b.title())
	require.Contains(t, b.page(), "Nothing changes")
	b.requireAccessible()
	b.submit(".confirm button")
	require.True(t, strings.HasPrefix(b.path(), "/console/operations/rebuilds/"), b.path())
	b.await("#progress", "What it would change")
	b.submit(`a[href$="/diff"]`)
	require.Contains(t, b.page(), "would change")
	b.requireAccessible()
	b.lead(chromedp.NavigateBack())
	b.submit(`#progress a[href*="/operations/rebuild?"]`)
	require.Equal(t, "Rebuild · Holdfast", b.title(), "the plan is known, so it asks at once")
	require.Contains(t, b.page(), "homemade")
	require.Contains(t, b.page(), "10\u202f000")
	require.Equal(t, 1, b.count(".confirm button.danger"))
	require.Equal(t, 1, b.count(`.confirm input[name=dry_run][value=false]`))
	b.requireAccessible()
	b.open("/console/operations/rebuild?provider=homemade")
	b.submit("button[value=false]")
	require.Equal(t, 1, b.count(".confirm button.danger"))
	viewer := newBrowser(t).as(access.RoleViewer)
	viewer.open("/console/operations")
	require.Zero(t, viewer.count(".heading a[href$='/rebuild']"))
	require.Equal(t, 403, viewer.open("/console/operations/rebuild"))
}

// Events that a destination never got are planned, and then sent to it.
func TestAResendBeginsWithItsPlan(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	id := r.send(t, "delivered")
	b := newBrowser(t).as(access.RoleOperator)
	b.open(r.path())
	b.submit(`a[href^="/console/operations/resend"]`)
	b.fill("#since", "1h")
	b.click("input[name=everything]")
	b.submit(".confirm button")
	require.Contains(t, b.text("section[aria-labelledby=plan]"), "Delivered\n1")
	b.requireAccessible()
	b.submit("#start button")
	require.True(t, strings.HasPrefix(b.path(), "/console/operations/resends/"), b.path())
	eventually(t, "it comes again", func() error {
		if n := r.got.Load(); n < 2 {
			return fmt.Errorf("it got %d", n)
		}
		return nil
	})
	r.await(t, id, "delivered")
	status, _, _ := holdfast.form(t, access.RoleOperator, "/console/operations/resend", url.Values{"subscription": {"nobody"}, "since": {"1h"}})
	require.Equal(t, 404, status)
}

// An admin can remove closed dead letters permanently, after confirmation; open ones stay.
func TestClosedDeadLettersAreRemoved(t *testing.T) {
	t.Parallel()
	id := bury(t, uniqueID("removed"), 1)[0]
	at := "/console/dead-letters/" + id
	b := newBrowser(t).withoutScripts().as(access.RoleAdmin)
	b.open(at)
	require.Zero(t, b.count(`a[href$="/delete"]`), "it waits")
	status, _, _ := holdfast.form(t, access.RoleAdmin, at+"/delete", url.Values{})
	require.Equal(t, 409, status)
	status, _, _ = holdfast.form(t, access.RoleAdmin, at+"/discard", url.Values{"reason": {"a test"}})
	require.Equal(t, 303, status)
	operator := newBrowser(t).as(access.RoleOperator)
	operator.open(at)
	require.Zero(t, operator.count(`a[href$="/delete"]`))
	require.Equal(t, 403, operator.open(at+"/delete"))
	b.open(at)
	b.submit(`a[href$="/delete"]`)
	b.submit(".confirm button.danger")
	require.Contains(t, b.page(), "Dead letter "+id+" is removed.")
	require.Equal(t, 404, b.open(at))

	b.open("/console/dead-letters?provider=nobody")
	b.submit("section[aria-labelledby=cleanup] button")
	require.Contains(t, b.page(), "Pending deliveries are kept.")
	require.Contains(t, b.page(), "nobody")
	b.submit(".confirm button.danger")
	require.Contains(t, b.page(), "0 closed dead letters are removed.")
}
