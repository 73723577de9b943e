package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

// beyond returns the elements that extend beyond the window and aren't in a container that scrolls or hides them.
const beyond = `(() => {
  const wide = innerWidth;
  const scrolls = (e) => { for (; e && e !== document.body; e = e.parentElement)
    if (getComputedStyle(e).overflowX !== "visible") return true; return false; };
  const found = [...document.body.querySelectorAll("*")].filter((e) => {
    const box = e.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && (box.right > wide + 1 || box.left < -1) && !e.matches(".skip") && !scrolls(e);
  }).slice(0, 3).map((e) => e.outerHTML.slice(0, 120));
  const page = document.documentElement.scrollWidth;
  return JSON.stringify(page > wide || found.length ? [page, ...found] : []);
})()`

// No page scrolls sideways on a phone, and nothing is clipped on a screen, however long the content.
func TestNoPageIsWiderThanItsWindow(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long", 30)
	r := newReceiver(t)
	r.status.Store(http.StatusTeapot)
	sent := r.send(t, "retrying")
	wide := holdfast.sent(t, uniqueID(long), fmt.Sprintf(`{"id":%q,"type":"note","text":%q}`, long, long), "processed")
	dead := holdfast.sent(t, uniqueID(long), poison, "dead")
	letter := holdfast.awaitEvent(t, dead, "dead letter", func(e eventOf) bool { return len(e.DeadLetters) == 1 }).DeadLetters[0].ID
	b := newBrowser(t).as(access.RoleAdmin)
	b.open("/console/operations")
	paths := []string{
		"", "/events", "/events?provider=" + long, "/events/" + sent, "/events/" + wide, "/events/" + dead,
		fmt.Sprintf("/events/%s/edit", dead), "/dead-letters", "/dead-letters/list", fmt.Sprintf("/dead-letters/%d", letter),
		fmt.Sprintf("/dead-letters/%d/discard", letter), "/dead-letters/replay?provider=homemade", "/entities",
		"/deliveries", "/deliveries?status=retrying", "/receivers", strings.TrimPrefix(r.path(), "/console"),
		strings.TrimPrefix(r.path(), "/console") + "/pause", strings.TrimPrefix(r.path(), "/console") + "/check?subscription=" + r.name,
		"/providers", "/providers/homemade", "/providers/homemade/try", "/operations", "/operations/rebuild",
		"/operations/resend?subscription=" + r.name, "/audit", "/nothing-" + long,
		"/connect", "/providers/homemade/connect", "/docs", "/docs/add-a-provider", "/docs/deliveries-reference",
	}
	var wrong []string
	for _, width := range []int64{390, 1400} {
		do(b, call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 900, DeviceScaleFactor: 1}))
		for _, path := range paths {
			b.open("/console" + path)
			do(b, chromedp.Evaluate[bool](`document.querySelectorAll("details").forEach((d) => { d.open = true; }), true`))
			var found []any
			require.NoError(t, json.Unmarshal([]byte(do(b, chromedp.Evaluate[string](beyond))), &found))
			if len(found) > 0 {
				wrong = append(wrong, fmt.Sprintf("%d px %.60s: %v", width, path, found))
			}
		}
	}
	require.Empty(t, wrong, strings.Join(wrong, "\n"))
}

// The problems of Now name destinations and quote messages of their endpoints, which may be long and without spaces.
func TestLongProblemsStayWithinAPhone(t *testing.T) {
	t.Parallel()
	b := newBrowser(t).as(access.RoleViewer)
	do(b, call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 390, Height: 844, DeviceScaleFactor: 1}))
	b.open("/console")
	// The script adds a problem like those of now.html, since a real one would disturb the tests that run at the same time.
	add := `(() => { const long = "long".repeat(30), now = document.querySelector("#now");
		now.insertAdjacentHTML("afterbegin", "<section><h2>" + long + "</h2><p>" + long + "</p><div class=problems><article class='card bad'>" +
			"<h3>" + long + " <small>for " + long + "</small></h3><p>" + long + "</p><p class=next>" + long + "</p></article></div></section>");
		return ` + beyond + `; })()`
	require.Equal(t, "[]", do(b, chromedp.Evaluate[string](add)))
}

// On a phone, a link within the page leads to something that the top bar doesn't hide, and the navigation begins at the section.
func TestTheTopBarHidesNothingOnAPhone(t *testing.T) {
	t.Parallel()
	letter := bury(t, uniqueID("phone"), 1)[0]
	b := newBrowser(t).as(access.RoleOperator)
	do(b, call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 390, Height: 844, DeviceScaleFactor: 1}))
	b.open("/console/dead-letters/" + letter)
	b.submit(`a[href$="#tried"]`)
	hidden := `document.querySelector(".top").getBoundingClientRect().bottom - document.querySelector("#tried h2").getBoundingClientRect().top`
	require.LessOrEqual(t, do(b, chromedp.Evaluate[float64](hidden)), 0.0)
	b.open("/console/operations")
	beside := `(() => { const box = document.querySelector(".top nav [aria-current]").getBoundingClientRect();
		return Math.max(-box.left, box.right - innerWidth); })()`
	require.LessOrEqual(t, do(b, chromedp.Evaluate[float64](beside)), 0.0)
}

// Times are in the reader's time zone, with UTC on hover, and "/" focuses the search.
func TestTimesAreLocalAndSlashSearches(t *testing.T) {
	t.Parallel()
	id := holdfast.sent(t, uniqueID("msg"), `{"type":"note"}`, "processed")
	b := newBrowser(t).as(access.RoleViewer)
	do(b, call(emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kathmandu"}))
	b.open("/console/events")
	hours := `(() => { const t = document.querySelector("#e-` + id + ` time.clock");
		const minutes = (s) => Number(s.slice(0, 2)) * 60 + Number(s.slice(3, 5));
		return (minutes(t.textContent.slice(-8)) - minutes(t.title.slice(11, 19)) + 1440) % 1440; })()`
	require.Equal(t, 345, do(b, chromedp.Evaluate[int](hours)), "5 h 45 min east of what one hovers over")
	require.Contains(t, b.text("footer"), "times are local (Asia/")
	require.Contains(t, b.text("#rows tr"), "Today", "a day is named once")
	do(b, chromedp.KeyEvent("/"))
	require.Equal(t, "find", do(b, chromedp.Evaluate[string]("document.activeElement.id")))
	require.NotZero(t, b.count("#providers option"))
	plain := newBrowser(t).as(access.RoleViewer).withoutScripts()
	plain.open("/console/events")
	require.Contains(t, plain.text("#e-"+id+" time"), " UTC")
}
