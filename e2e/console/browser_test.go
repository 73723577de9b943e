package console

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

// browser is one visitor with its own profile. At the end of the test, nothing may have been loaded from elsewhere, no script
// may have failed, and no rule of the content security policy may have been violated.
type browser struct {
	t   *testing.T
	ctx context.Context
	// origin is the only origin from which it may load anything.
	origin string

	mu       sync.Mutex
	troubles []string
	roams    bool // visits other pages as well, which may do anything
}

// patience is the time limit for a page on a busy machine.
const patience = time.Minute

func newBrowser(t *testing.T) *browser {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx, origin: holdfast.operator}
	require.NoError(t, chromedp.Listen(ctx, b.observe))
	do(b, call(network.Enable, network.EnableParams{}))
	do(b, call(log.Enable, cdp.Empty{}))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.roams {
			require.Empty(t, b.troubles)
		}
	})
	return b
}

// observe records what no page may do.
func (b *browser) observe(happened any) {
	switch e := happened.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.origin+"/") && !strings.HasPrefix(e.Request.URL, "data:") {
			b.trouble("it asks for " + e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		b.trouble("a script fails: " + e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		if e.Entry.Source == log.EntrySourceSecurity || strings.Contains(e.Entry.Text, "Content Security Policy") {
			b.trouble(e.Entry.Text)
		}
	}
}

func (b *browser) trouble(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.troubles = append(b.troubles, text)
}

// do runs an action within the time limit of a busy machine.
func do[T any](b *browser, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	result, err := chromedp.Run(ctx, action)
	require.NoError(b.t, err)
	return result
}

// call turns a command of the protocol into an action.
func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[R] {
	return func(ctx context.Context, t *chromedp.Target) (R, error) { return cdp.Call(ctx, t, command, params) }
}

// lead runs an action that leads to another page, waits for that, and returns the status of its answer.
func (b *browser) lead(action chromedp.Action[chromedp.Void]) (status int) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	response, err := chromedp.RunResponse(ctx, action)
	require.NoError(b.t, err)
	return int(response.Status)
}

// logIn logs in on the login page with the token of a role.
func (b *browser) logIn(role access.Role) *browser {
	b.t.Helper()
	b.open("/console/login")
	b.fill("#token", holdfast.tokens[role])
	b.submit(".login button")
	require.Equal(b.t, "/console", b.path())
	return b
}

// as gives the browser a new session of a role without loading the login page.
func (b *browser) as(role access.Role) *browser {
	b.t.Helper()
	return b.with(holdfast.tokens[role])
}

// with gives the browser a new session of a token.
func (b *browser) with(token string) *browser {
	b.t.Helper()
	response, err := stays.PostForm(b.origin+"/console/login", url.Values{"token": {token}})
	require.NoError(b.t, err)
	require.NoError(b.t, response.Body.Close())
	require.Len(b.t, response.Cookies(), 1)
	session := response.Cookies()[0]
	do(b, call(network.SetCookie, network.SetCookieParams{
		Name: session.Name, Value: session.Value, URL: b.origin, Path: session.Path, SameSite: "Strict",
	}))
	return b
}

// withoutScripts disables scripts.
func (b *browser) withoutScripts() *browser {
	b.t.Helper()
	do(b, call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	return b
}

// open goes to a path of the console.
func (b *browser) open(path string) (status int) {
	b.t.Helper()
	return b.lead(chromedp.Navigate(b.origin + path))
}

// submit clicks an element that leads to another page.
func (b *browser) submit(selector string) (status int) {
	b.t.Helper()
	return b.lead(chromedp.Click(chromedp.CSS(selector)))
}

// click clicks an element that stays on the page.
func (b *browser) click(selector string) {
	b.t.Helper()
	do(b, chromedp.Click(chromedp.CSS(selector)))
}

// fill puts a value into a field.
func (b *browser) fill(selector, value string) {
	b.t.Helper()
	do(b, chromedp.SetValue(chromedp.CSS(selector), value))
}

// text returns the visible text of an element.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return strings.TrimSpace(do(b, chromedp.Text(chromedp.CSS(selector))))
}

// page returns the visible text of the page.
func (b *browser) page() string { b.t.Helper(); return b.text("main") }

// await waits for a text on the current page. It reads in one step, so that replaced elements don't matter.
func (b *browser) await(selector, text string) {
	b.t.Helper()
	quoted, err := json.Marshal(selector)
	require.NoError(b.t, err)
	read := chromedp.Evaluate[string]("document.querySelector(" + string(quoted) + ")?.innerText ?? ''")
	eventually(b.t, fmt.Sprintf("%q in %s", text, selector), func() error {
		if shown := do(b, read); !strings.Contains(shown, text) {
			return fmt.Errorf("it says: %.500s", shown)
		}
		return nil
	})
}

// count returns the number of elements.
func (b *browser) count(selector string) int {
	b.t.Helper()
	quoted, err := json.Marshal(selector)
	require.NoError(b.t, err)
	return do(b, chromedp.Evaluate[int]("document.querySelectorAll("+string(quoted)+").length"))
}

// path returns the current path with its query.
func (b *browser) path() string {
	b.t.Helper()
	at, err := url.Parse(do(b, chromedp.Location()))
	require.NoError(b.t, err)
	return at.RequestURI()
}

// title returns the tab's title.
func (b *browser) title() string { b.t.Helper(); return do(b, chromedp.Title()) }

// Axe-core 4.14.1 as npm has it, by Deque Systems under the Mozilla Public License 2.0: see testdata/axe.LICENSE. It is part of
// no program.
//
//go:embed testdata/axe.min.js
var axe string

// violation is a rule of axe-core that a page violates.
type violation struct {
	ID     string `json:"id"`
	Impact string `json:"impact"`
	Help   string `json:"help"`
	Nodes  []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// rules are the levels A and AA of WCAG up to 2.2, and best practices.
const rules = `{runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], resultTypes: ["violations"]}`

// requireAccessible asserts that axe-core finds nothing on the page: WCAG 2.2 AA and best practices, in light, in dark, and in the
// width of a phone.
func (b *browser) requireAccessible() { b.t.Helper(); b.requireAccessibleAt(1280) }

// requireAccessibleAt is requireAccessible for a screen of a width.
func (b *browser) requireAccessibleAt(screen int64) {
	b.t.Helper()
	do(b, chromedp.Evaluate[bool](axe+`; true`))
	for _, in := range []struct {
		scheme string
		width  int64
	}{{"light", screen}, {"dark", screen}, {"light", 390}} {
		do(b, call(emulation.SetDeviceMetricsOverride,
			emulation.SetDeviceMetricsOverrideParams{Width: in.width, Height: 900, DeviceScaleFactor: 1}))
		features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: in.scheme}}
		do(b, call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}))
		run := chromedp.Evaluate[[]violation](`axe.run(document, `+rules+`).then(r => r.violations)`, chromedp.EvalAwaitPromise)
		for _, v := range do(b, run) {
			assert.Fail(b.t, fmt.Sprintf("%s (%s) in %s at %d px", v.ID, v.Impact, in.scheme, in.width), "%s on %s\n%+v", v.Help, b.path(), v.Nodes)
		}
	}
	do(b, call(emulation.ClearDeviceMetricsOverride, cdp.Empty{}))
	require.False(b.t, b.t.Failed())
}
