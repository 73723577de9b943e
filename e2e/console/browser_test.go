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
	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

// browser is one visitor with a profile of its own. When the test ends, nothing may have been loaded from elsewhere, no script may
// have failed, and no rule of the content security policy may have been broken.
type browser struct {
	t   *testing.T
	ctx context.Context
	// origin is where it goes, and from where alone it may load anything.
	origin string

	mu       sync.Mutex
	troubles []string
	roams    bool // it visits other pages as well, which may do anything
}

// patience is how long a page may take on a busy machine.
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

// observe notes what no page may do.
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

// do runs an action within the time that a busy machine may take.
func do[T any](b *browser, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	result, err := chromedp.Run(ctx, action)
	require.NoError(b.t, err)
	return result
}

// call is a command of the protocol as an action.
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

// as logs in with the token of a role.
func (b *browser) as(role access.Role) *browser {
	b.t.Helper()
	b.open("/console/login")
	b.fill("#token", holdfast.tokens[role])
	b.submit(".login button")
	require.Equal(b.t, "/console", b.path())
	return b
}

// withoutScripts makes the browser run none.
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

// submit clicks on what leads to another page.
func (b *browser) submit(selector string) (status int) {
	b.t.Helper()
	return b.lead(chromedp.Click(chromedp.CSS(selector)))
}

// click clicks on what stays on the page.
func (b *browser) click(selector string) {
	b.t.Helper()
	do(b, chromedp.Click(chromedp.CSS(selector)))
}

// fill puts a value into a field.
func (b *browser) fill(selector, value string) {
	b.t.Helper()
	do(b, chromedp.SetValue(chromedp.CSS(selector), value))
}

// text is what somebody reads in an element.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return strings.TrimSpace(do(b, chromedp.Text(chromedp.CSS(selector))))
}

// page is what somebody reads.
func (b *browser) page() string { b.t.Helper(); return b.text("main") }

// await waits until a page, which stays the same one, says something. It reads in one step, so that what is replaced meanwhile is there.
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

// count is how many elements there are.
func (b *browser) count(selector string) int {
	b.t.Helper()
	quoted, err := json.Marshal(selector)
	require.NoError(b.t, err)
	return do(b, chromedp.Evaluate[int]("document.querySelectorAll("+string(quoted)+").length"))
}

// path is where the browser is, with its query.
func (b *browser) path() string {
	b.t.Helper()
	at, err := url.Parse(do(b, chromedp.Location()))
	require.NoError(b.t, err)
	return at.RequestURI()
}

// title is that of the tab.
func (b *browser) title() string { b.t.Helper(); return do(b, chromedp.Title()) }

// Axe-core 4.14.1 as npm has it, by Deque Systems under the Mozilla Public License 2.0: see testdata/axe.LICENSE. It is part of
// no program.
//
//go:embed testdata/axe.min.js
var axe string

// violation is a rule of axe-core that a page breaks.
type violation struct {
	ID     string `json:"id"`
	Impact string `json:"impact"`
	Help   string `json:"help"`
	Nodes  []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// requireAccessible has axe-core find nothing serious on the page, in light and in dark.
func (b *browser) requireAccessible() {
	b.t.Helper()
	run := chromedp.Evaluate[[]violation](
		axe+`; axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations)`, chromedp.EvalAwaitPromise)
	for _, scheme := range []string{"light", "dark"} {
		features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
		do(b, call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}))
		for _, v := range do(b, run) {
			if v.Impact == "serious" || v.Impact == "critical" {
				require.Fail(b.t, v.ID+" in "+scheme, "%s on %s\n%+v", v.Help, b.path(), v.Nodes)
			}
		}
	}
}
