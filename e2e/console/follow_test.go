package console

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

// asked are the statuses of the answers to a page that follows an event.
type asked struct {
	mu       sync.Mutex
	statuses []int
}

func (a *asked) observe(happened any) {
	if e, ok := happened.(*network.EventResponseReceived); ok && strings.Contains(e.Response.URL, "/live?") {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.statuses = append(a.statuses, int(e.Response.Status))
	}
}

func (a *asked) count(status int) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.statuses {
		if one == status || status == 0 {
			n++
		}
	}
	return n
}

// followPause is how often the page of an event asks.
const followPause = 2 * time.Second

// The page of an event asks for changes until the event ends: it gets no content without changes, says nothing new to a screen reader
// until there is one, and asks for nothing while it is hidden.
func TestAnEventIsFollowedCheaply(t *testing.T) {
	t.Parallel()
	name, kind := strings.ReplaceAll(uniqueID("later"), "_", "-"), uniqueID("note")
	holdfast.run(t, "subscription", "create", name, "--url", "http://127.0.0.1:9/", "--types", kind)
	holdfast.run(t, "destination", "pause", name, "--reason", "a test")
	var id string
	eventually(t, "the subscription is known", func() error {
		id = holdfast.sent(t, uniqueID("msg"), `{"type":"`+kind+`"}`, "processed")
		if e := (eventOf{}); holdfast.api(t, "GET", "/events/"+id, &e) != 200 || len(e.Deliveries) == 0 {
			return fmt.Errorf("it has no delivery")
		}
		return nil
	})
	b := newBrowser(t).as(access.RoleOperator)
	var live asked
	require.NoError(t, chromedp.Listen(b.ctx, live.observe))
	b.open("/console/events/" + id)
	do(b, chromedp.Evaluate[bool](`window.said = 0; for (const one of document.querySelectorAll("[role=status]"))
		new MutationObserver(() => window.said++).observe(one, {childList: true, subtree: true, characterData: true}); true`))
	eventually(t, "the page asks", func() error {
		if live.count(204) < 3 {
			return fmt.Errorf("it asked %d times", live.count(0))
		}
		return nil
	})
	require.LessOrEqual(t, live.count(200), 2, "the times of the page are drawn again after a while")
	require.Zero(t, do(b, chromedp.Evaluate[int](`window.said`)))

	hide := func(hidden bool) {
		do(b, chromedp.Evaluate[bool](fmt.Sprintf(`Object.defineProperty(document, "hidden", {value: %t, configurable: true});
			document.dispatchEvent(new Event("visibilitychange"))`, hidden)))
	}
	hide(true)
	time.Sleep(followPause / 2) // for a request on its way
	before := live.count(0)
	time.Sleep(2 * followPause)
	require.Equal(t, before, live.count(0), "nobody sees it")
	hide(false)
	holdfast.run(t, "delivery", "cancel", id, name)
	b.await(".timeline", "canceled")
	time.Sleep(followPause) // for a request on its way
	before = live.count(0)
	time.Sleep(2 * followPause)
	require.Equal(t, before, live.count(0), "the event has ended")
	require.Zero(t, b.count("#event[hx-get]"))
	b.requireAccessible()
}
