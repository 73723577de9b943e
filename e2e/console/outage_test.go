package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

// window is the visible part of a page.
type window struct {
	width, height int64
	scheme        string
}

func (w window) String() string { return fmt.Sprintf("%d-%s", w.width, w.scheme) }

// in sets the browser's window size.
func (b *browser) in(w window) *browser {
	b.t.Helper()
	do(b, call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: w.width, Height: w.height, DeviceScaleFactor: 1,
	}))
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: w.scheme}}
	do(b, call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}))
	return b
}

// requireInView asserts that an element is visible without scrolling.
func (b *browser) requireInView(selector string) {
	b.t.Helper()
	box := do(b, chromedp.Evaluate[map[string]float64](`(() => {
		const box = document.querySelector("`+selector+`").getBoundingClientRect();
		return {scrolled: window.scrollY, top: box.top, left: box.left, height: box.height,
			below: box.bottom - window.innerHeight, beside: box.right - window.innerWidth};
	})()`))
	require.Zero(b.t, box["scrolled"])
	require.Positive(b.t, box["height"])
	require.True(b.t, box["top"] >= 0 && box["left"] >= 0 && box["below"] <= 0 && box["beside"] <= 0, "%s is at %v", selector, box)
}

// requireNoSideways asserts that the page is no wider than the window: wide content scrolls within itself.
func (b *browser) requireNoSideways() {
	b.t.Helper()
	wider := do(b, chromedp.Evaluate[int](`document.documentElement.scrollWidth - window.innerWidth`))
	require.LessOrEqual(b.t, wider, 0, "%s is wider than the window", b.path())
}

// shoot saves a screenshot of the whole page for inspection.
func (b *browser) shoot(dir, name string) {
	b.t.Helper()
	b.requireNoSideways()
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), do(b, chromedp.FullScreenshot(100)), 0o600))
}

// An endpoint is created, breaks, shows why on one screen, and is repaired, after which waiting deliveries arrive. All in the
// console.
func TestAnOutageIsSeenAndRepairedInTheConsole(t *testing.T) {
	t.Parallel()
	pictures := t.TempDir()
	if os.Getenv("HOLDFAST_KEEP") != "" {
		var err error
		pictures, err = os.MkdirTemp("", "holdfast-pictures-") //nolint:usetesting // it stays, to be looked at
		require.NoError(t, err)
	}
	t.Log("pictures of the pages:", pictures)
	for _, w := range []window{{390, 844, "light"}, {1400, 900, "dark"}} {
		t.Run(w.String(), func(t *testing.T) {
			t.Parallel()
			o := newOutage(t, w, pictures)
			o.create()
			o.breakDown()
			o.repair()
		})
	}
}

// outage is an endpoint of the test and its operator.
type outage struct {
	t        *testing.T
	b        *browser
	name     string
	pictures string
	window   window

	endpoint *httptest.Server
	broken   atomic.Bool
	taken    atomic.Int64
	events   []string
}

func newOutage(t *testing.T, w window, pictures string) *outage {
	t.Helper()
	o := &outage{t: t, name: strings.ReplaceAll(uniqueID("shop"), "_", "-"), pictures: pictures, window: w}
	o.endpoint = httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		if o.broken.Load() {
			http.Error(answer, "the database of the shop is full", http.StatusInternalServerError)
			return
		}
		o.taken.Add(1)
	}))
	t.Cleanup(o.endpoint.Close)
	o.b = newBrowser(t).as(access.RoleIntegrator).in(w)
	return o
}

func (o *outage) path() string { return "/console/destinations/" + o.name }

func (o *outage) shoot(what string) { o.t.Helper(); o.b.shoot(o.pictures, what+"-"+o.window.String()) }

// create fills in the forms, the first one incorrectly at first.
func (o *outage) create() {
	t, b := o.t, o.b
	b.open("/console/destinations")
	o.shoot("1-list")
	b.submit(`a[href="/console/new-destination"]`)
	b.fill(`[name="name"]`, o.name)
	b.fill(`[name="http.url"]`, "shop.example.com")
	require.Equal(t, 422, b.submit("form.entry button"))
	require.Contains(t, b.text(`[id="e-http.url"]`), "must be a URL with http or https")
	b.requireInView(`[id='e-http.url']`)
	require.Equal(t, "shop.example.com", do(b, chromedp.Value(chromedp.CSS(`[name="http.url"]`))))
	o.shoot("2-wrong")
	b.fill(`[name="http.url"]`, o.endpoint.URL+"/hooks")
	b.click("details:last-of-type summary")
	b.fill(`[name="breaker.failures"]`, "2")
	b.fill(`[name="breaker.open"]`, "1h")
	require.Equal(t, 200, b.submit("form.entry button"))
	require.Regexp(t, `^whsec_\S{20,}$`, b.text("#secret"))
	o.shoot("3-secret")
	b.requireAccessible()
	b.in(o.window)

	b.submit(`a[href="` + o.path() + `/subscribe"]`)
	b.fill(`[name="name"]`, o.name)
	b.fill(`[name="events.providers"]`, "homemaid")
	b.fill(`[name="events.types"]`, o.name)
	o.shoot("4-subscription")
	require.Equal(t, 200, b.submit("form.entry button"))
	require.Contains(t, b.text(".flash.warn"), `no definition is called "homemaid"`)
	o.shoot("5-warning")
	b.submit(`main p.actions a:last-child`)
	b.submit(`a[href="` + o.path() + `/subscribe?subscription=` + o.name + `"]`)
	b.fill(`[name="events.providers"]`, "homemade")
	b.submit("form.entry button")
	require.Equal(t, o.path(), b.path())
	require.Contains(t, b.page(), "Subscription "+o.name+" is saved.")
}

func (o *outage) send() {
	o.t.Helper()
	o.events = append(o.events, holdfast.send(o.t, uniqueID("evt"), fmt.Sprintf(`{"type":%q}`, o.name)))
}

// breakDown makes the endpoint refuse requests until its breaker is open. The reason is on the first screen.
func (o *outage) breakDown() {
	t, b := o.t, o.b
	o.broken.Store(true)
	for range 3 {
		o.send()
	}
	eventually(t, "an open breaker", func() error {
		b.open(o.path())
		if page := b.text(".heading") + b.page(); !strings.Contains(page, "breaker open") {
			return fmt.Errorf("it says %.300s", page)
		}
		return nil
	})
	require.Contains(t, b.text("main .flash.bad"), "500")
	b.requireInView("main .flash.bad")
	o.shoot("6-broken")
	require.Zero(t, o.taken.Load())
}

// repair makes the endpoint accept events again. All waiting deliveries arrive after the operator has retried it.
func (o *outage) repair() {
	t, b := o.t, o.b
	o.broken.Store(false)
	b.requireInView(`form[action='` + o.path() + `/retry'] button`)
	b.submit(`form[action="` + o.path() + `/retry"] button`)
	o.shoot("7-tried")
	require.Contains(t, b.text("main .flash"), "Tried again, and the endpoint accepted it.")
	for _, id := range o.events {
		holdfast.awaitEvent(t, id, "its delivery", func(e eventOf) bool {
			for _, d := range e.Deliveries {
				if d.Subscription == o.name {
					return d.Status == "delivered"
				}
			}
			return false
		})
	}
	require.EqualValues(t, len(o.events), o.taken.Load(), "each event arrives once")
	b.open(o.path())
	require.Zero(t, b.count("main .flash.bad"))
	require.Contains(t, b.text("section[aria-labelledby=waiting]"), "No deliveries are pending.")
	require.Contains(t, b.text("section[aria-labelledby=ended]"), "delivered")
	o.shoot("8-repaired")
}
