package console

import (
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

// resize sets the width of the window.
func (b *browser) resize(width int64) {
	b.t.Helper()
	do(b, call(emulation.SetDeviceMetricsOverride,
		emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 900, DeviceScaleFactor: 1}))
}

// press types keys, one after the other.
func (b *browser) press(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		do(b, chromedp.KeyEvent(key))
	}
}

// chip returns the selector of the chip of a state.
func chip(state string) string { return `.chips a[href*="=` + state + `"]` }

// The states of a list are links with counts, and each filter that is set has a link that removes it alone.
func TestFiltersAreChips(t *testing.T) {
	t.Parallel()
	kind := uniqueID("chips")
	bury(t, kind, 3)
	for range 2 {
		holdfast.sent(t, uniqueID("msg"), `{"type":"`+kind+`"}`, "processed")
	}
	r := newReceiver(t)
	r.send(t, "delivered")
	r.send(t, "delivered")
	r.status.Store(http.StatusTeapot)
	r.send(t, "retrying")
	b := newBrowser(t).as(access.RoleOperator).withoutScripts()
	b.open("/console/events?provider=homemade&type=" + kind + "&source=")
	require.Equal(t, "all", b.text(".chip[aria-current]"))
	require.Equal(t, "dead 0", b.text(chip("dead")))
	require.Equal(t, "processed 2", b.text(chip("processed")))
	b.submit(chip("processed"))
	require.Equal(t, "/console/events?provider=homemade&status=processed&type="+kind, b.path())
	require.Equal(t, "processed 2", b.text(".chip[aria-current]"))
	require.Equal(t, 2, b.count("#rows tr.linked"))
	b.fill("#since", "1h")
	b.submit(".filters button")
	require.Contains(t, b.path(), "status=processed", "the form keeps the chip")
	b.submit(`.chip.set a[aria-label="Remove the filter since 1h"]`)
	b.submit(`.chip.set a[aria-label^="Remove the filter provider"]`)
	require.Equal(t, "/console/events?status=processed&type="+kind, b.path())

	b.open("/console/dead-letters?provider=broken")
	b.submit(chip("open"))
	b.fill("#type", kind)
	b.submit(".filters button")
	require.Equal(t, "open 3", b.text(".chip[aria-current]"))
	require.Equal(t, "resolved 0", b.text(chip("resolved")))
	b.submit(chip("resolved"))
	require.Contains(t, b.page(), "No dead letters match these filters.")

	b.open("/console/deliveries?only=undelivered&subscription=" + r.name)
	require.Equal(t, 1, b.count("tbody tr"))
	require.Equal(t, "delivered 2", b.text(chip("delivered")))
	b.submit(chip("delivered"))
	require.Equal(t, 2, b.count("tbody tr"))
	require.Equal(t, "retrying 1", b.text(chip("retrying")))
	scripted := newBrowser(t).as(access.RoleOperator) // axe needs scripts
	for _, path := range []string{b.path(), "/console/events?provider=homemade&status=processed&type=" + kind,
		"/console/dead-letters?provider=broken", "/console/dead-letters/list?state=open&type=" + kind} {
		scripted.open(path)
		scripted.requireAccessible()
	}
}

// On a wide screen, j, k and a click show a row's page next to the list. Enter opens it, and Escape closes what is shown.
func TestARowIsShownNextToItsList(t *testing.T) {
	t.Parallel()
	kind := uniqueID("panel")
	var ids []string
	for range 3 {
		ids = append(ids, holdfast.sent(t, uniqueID("msg"), `{"type":"`+kind+`"}`, "processed"))
	}
	list := "/console/events?provider=homemade&type=" + kind
	b := newBrowser(t).as(access.RoleViewer)
	b.resize(1440)
	b.open(list)
	focus := chromedp.Evaluate[string](`document.activeElement.closest("tr")?.id ?? document.activeElement.className`)
	b.press("j", "j")
	b.await(".panel", ids[1])
	require.Contains(t, b.text(".panel"), "Timeline")
	require.Equal(t, "e-"+ids[1], do(b, focus), "the focus stays in the list")
	require.Equal(t, 1, b.count("#e-"+ids[1]+"[aria-current]"))
	require.Equal(t, list, b.path())
	last := holdfast.sent(t, uniqueID("msg"), `{"type":"`+kind+`"}`, "processed")
	b.await("#rows", last[len(last)-8:])
	require.Equal(t, 1, b.count("#e-"+ids[1]+"[aria-current]"), "also when rows come")
	b.requireAccessibleAt(1440)

	b.resize(1440)
	b.press("o")
	require.Equal(t, "panel", do(b, focus))
	b.press("\x1b")
	require.Equal(t, 1, b.count(".panel[hidden]"))
	require.Zero(t, b.count("[aria-current=true] td"))
	require.Equal(t, "e-"+ids[1], do(b, focus), "one is back in the list")
	b.click("#e-" + ids[0] + " td:first-child")
	b.await(".panel", ids[0])
	require.Equal(t, list, b.path())
	require.Equal(t, 200, b.submit(".panel a.button"))
	require.Equal(t, "/console/events/"+ids[0], b.path())
	b.open(list)
	b.press("j", "j", "k")
	b.await(".panel", last)
	b.lead(chromedp.KeyEvent("\r"))
	require.Equal(t, "/console/events/"+last, b.path())
	b.open("/console/events?provider=homemade")
	b.press("j")
	require.Contains(t, do(b, focus), "e-", "rows of the folded table above aren't chosen")
	b.resize(1000)
	b.open(list)
	b.submit("#e-" + ids[2] + " td:first-child")
	require.Equal(t, "/console/events/"+ids[2], b.path())
}

// Next to the lists of dead letters and deliveries, an operator sees why something failed, and acts.
func TestFailuresAreShownNextToTheirList(t *testing.T) {
	t.Parallel()
	kind := uniqueID("panel")
	letters := bury(t, kind, 2)
	r := newReceiver(t)
	r.status.Store(http.StatusTeapot)
	failing := r.send(t, "retrying")
	b := newBrowser(t).as(access.RoleOperator)
	b.resize(1440)
	b.open("/console/deliveries?subscription=" + r.name)
	b.press("j")
	b.await(".panel", failing)
	b.await(".panel", "it says <b>thanks</b>")
	b.requireAccessibleAt(1440)
	b.resize(1440)
	b.open("/console/dead-letters/list?state=open&type=" + kind)
	b.press("j", "j")
	b.await(".panel", "Dead letter "+letters[0])
	b.requireAccessibleAt(1440)
	b.resize(1440)
	b.submit(`.panel form[action$="/` + letters[0] + `/replay"] button`)
	require.Contains(t, b.page(), "A run of the event was started")
	require.Equal(t, 404, b.open("/console/dead-letters/999999999"))
}

// From the list of a cause, all of a page are picked, then all that match, with the keyboard and on a phone: plan, run, watch.
func TestAllThatMatchAreReplayedFromTheList(t *testing.T) {
	t.Parallel()
	for name, width := range map[string]int64{"screen": 1440, "phone": 390} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind := uniqueID("matching")
			ids := bury(t, kind, 3)
			b := newBrowser(t).as(access.RoleOperator)
			b.resize(width)
			b.open("/console/dead-letters/list?state=open&limit=2&type=" + kind)
			b.press("j", "x")
			require.Equal(t, "1 selected", b.text("#picked"))
			b.press("x")
			require.Empty(t, do(b, chromedp.Evaluate[string](`document.getElementById("picked").innerText`)))
			b.click(`input[value="` + ids[2] + `"]`)
			require.Equal(t, "1 selected", b.text("#picked"))
			b.click("#page-picked")
			require.Equal(t, "2 selected. Select all 3 that match", b.text("#picked"))
			b.requireAccessible()
			b.resize(width)
			b.submit("#picked a")
			require.Contains(t, b.page(), "3 dead letters match")
			b.submit(".confirm button")
			require.Contains(t, b.page(), "Replaying 3 dead letters.")
			b.await("#progress", "completed")
			b.requireAccessible()
		})
	}
}
