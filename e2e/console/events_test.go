package console

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/operator/access"
)

func TestEventsAreFilteredByTheAddress(t *testing.T) {
	t.Parallel()
	kind := uniqueID("note")
	var ids []string
	for i := range 3 {
		body := fmt.Sprintf(`{"id":%q,"type":%q}`, fmt.Sprintf("%s_%d", kind, i), kind)
		ids = append(ids, holdfast.sent(t, uniqueID("msg"), body, "processed"))
	}
	b := newBrowser(t).as(access.RoleViewer)
	b.open("/console/events?provider=homemade&type=" + kind)
	require.Equal(t, "Events · Holdfast", b.title())
	require.Equal(t, 3, b.count("#rows tr"))
	b.requireAccessible()
	b.fill("#entity_kind", "note")
	b.fill("#entity_id", kind+"_1")
	b.submit(".filters button")
	require.Contains(t, b.path(), "entity_id="+kind+"_1")
	require.Equal(t, 1, b.count("#rows tr"))
	require.Contains(t, b.text("#rows"), ids[1][len(ids[1])-8:])

	b.open("/console/events?type=" + kind + "&provider=homemade&limit=2")
	require.Equal(t, 2, b.count("#rows tr"))
	b.submit(".pager a[rel=next]")
	require.Equal(t, 1, b.count("#rows tr"))
	require.Contains(t, b.text("#rows"), ids[0][len(ids[0])-8:])
	require.Zero(t, b.count("#tail"), "a further page does not change under the reader")
	b.submit(".pager a")
	require.Equal(t, 2, b.count("#rows tr"))
	require.Equal(t, 400, b.open("/console/events?status=nonsense"))
}

func TestAnEventIsFoundByAnyID(t *testing.T) {
	t.Parallel()
	key, dead, noted, twin := uniqueID("msg"), uniqueID("msg"), uniqueID("noted"), uuid.NewString()
	id := holdfast.sent(t, key, `{"type":"note"}`, "processed")
	holdfast.sent(t, uniqueID("msg"), fmt.Sprintf(`{"id":%q,"type":"note"}`, noted), "processed")
	twinID := holdfast.sent(t, twin+"-key", fmt.Sprintf(`{"id":%q,"type":"note"}`, twin), "processed")
	holdfast.sent(t, uniqueID("msg"), fmt.Sprintf(`{"id":%q,"type":"note"}`, twin+"-key"), "processed")
	var run struct {
		Run struct {
			RunID string `json:"run_id"`
		} `json:"run"`
	}
	require.Equal(t, 200, holdfast.api(t, "GET", "/events/"+id, &run))
	deadID := holdfast.sent(t, dead, poison, "dead")
	letter := holdfast.awaitEvent(t, deadID, "dead letter", func(e eventOf) bool { return len(e.DeadLetters) == 1 }).DeadLetters[0].ID
	b := newBrowser(t).as(access.RoleViewer).withoutScripts()
	for given, found := range map[string]string{
		id: id, "homemade:" + key: id, deadID: deadID, "homemade:" + dead: deadID, fmt.Sprint(letter): deadID,
		id[len(id)-8:]: id, run.Run.RunID: id, "…" + strings.ToUpper(deadID[len(deadID)-8:]): deadID,
	} {
		b.open("/console/events")
		b.fill("#find", given)
		require.Equal(t, 200, b.submit(".search button"), given)
		require.Equal(t, "/console/events/"+found, b.path(), given)
	}
	b.open("/console/find?q=" + key)
	require.Equal(t, "/console/events/"+id, b.path())
	for _, text := range []string{noted, twin} { // an ID of an entity alone, also one that could be an event's
		b.open("/console/find?q=" + text)
		require.Equal(t, "/console/entities/homemade/note/"+text, b.path())
	}
	several := newBrowser(t).as(access.RoleViewer)
	several.open("/console/find?q=" + twin + "-key")
	require.Equal(t, 1, several.count(`main a[href="/console/events/`+twinID+`"]`), "the key of an event")
	require.Equal(t, 1, several.count(`main a[href="/console/entities/homemade/note/`+twin+`-key"]`), "and the ID of an entity")
	several.requireAccessible()
	b.open("/console/find?q=homemade")
	require.Equal(t, "/console/providers/homemade", b.path())
	b.open("/console/find?q=sample-http")
	require.Equal(t, "/console/destinations/sample-http", b.path())
	b.open("/console/find?q=nothing-has-this")
	require.Contains(t, b.page(), "No events match these filters")
}

// The open page shows new events, also under load, until the user pauses it.
func TestTheTailFollowsUntilItIsPaused(t *testing.T) {
	t.Parallel()
	kind := uniqueID("note")
	b := newBrowser(t).as(access.RoleOperator)
	b.open("/console/events?provider=homemade&type=" + kind)
	require.Contains(t, b.page(), "No events match these filters")
	b.await("#tail-state", "following")
	send := func(n int) (last string) {
		for range n {
			last = holdfast.send(t, uniqueID("msg"), `{"type":"`+kind+`"}`)
		}
		return last[len(last)-8:]
	}
	last := send(60)
	b.await("#rows", last)
	eventually(t, "a full page", func() error {
		if n := b.count("#rows tr"); n != 50 {
			return fmt.Errorf("there are %d rows", n)
		}
		return nil
	})
	b.requireAccessible()

	b.click("#pause")
	b.await("#tail-state", "paused")
	require.Zero(t, b.count("#tail"), "nothing is asked for")
	missed := send(1)
	other := newBrowser(t).as(access.RoleViewer)
	other.open("/console/events?provider=homemade&type=" + kind)
	other.await("#rows", missed)
	time.Sleep(2 * tailPause) // two polls of a following page
	require.NotContains(t, b.text("#rows"), missed)
	b.click("#pause")
	b.await("#rows", missed)
}

// Users who may read bodies can search them for a text.
func TestATextIsFoundInBodies(t *testing.T) {
	t.Parallel()
	text := uniqueID("needle")
	id := holdfast.sent(t, uniqueID("msg"), `{"type":"note","remark":"a `+text+` in the hay"}`, "processed")
	holdfast.sent(t, uniqueID("msg"), `{"type":"note","remark":"hay"}`, "processed")
	b := newBrowser(t).as(access.RoleOperator)
	b.open("/console/events?provider=homemade")
	b.fill("#text", text)
	b.submit(".filters button")
	require.Contains(t, b.path(), "text="+text)
	require.Equal(t, 1, b.count("#rows tr"))
	require.Contains(t, b.text("#rows"), id[len(id)-8:])
	require.Zero(t, b.count("#tail"), "a search is not done again and again")
	b.requireAccessible()
	viewer := newBrowser(t).as(access.RoleViewer)
	viewer.open("/console/events")
	require.Zero(t, viewer.count("#text"))
	require.Equal(t, 403, viewer.open("/console/events?text="+text))
}

// A hidden page doesn't poll, and follows again once it is visible.
func TestATabThatIsHiddenDoesNotFollow(t *testing.T) {
	t.Parallel()
	kind := uniqueID("note")
	b := newBrowser(t).as(access.RoleViewer)
	b.open("/console/events?provider=homemade&type=" + kind)
	b.await("#tail-state", "following")
	seen := holdfast.send(t, uniqueID("msg"), `{"type":"`+kind+`"}`)
	b.await("#rows", seen[len(seen)-8:])
	hide := func(hidden bool) {
		do(b, chromedp.Evaluate[bool](fmt.Sprintf(`Object.defineProperty(document, "hidden", {value: %t, configurable: true});
			document.dispatchEvent(new Event("visibilitychange"))`, hidden)))
	}
	hide(true)
	missed := holdfast.send(t, uniqueID("msg"), `{"type":"`+kind+`"}`)
	other := newBrowser(t).as(access.RoleViewer)
	other.open("/console/events?provider=homemade&type=" + kind)
	other.await("#rows", missed[len(missed)-8:])
	time.Sleep(2 * tailPause) // two polls of a following page
	require.NotContains(t, b.text("#rows"), missed[len(missed)-8:])
	hide(false)
	b.await("#rows", missed[len(missed)-8:])
}

// tailPause is the polling interval of a following page.
const tailPause = time.Second

func TestEventsNeedNoScript(t *testing.T) {
	t.Parallel()
	kind := uniqueID("note")
	id := holdfast.sent(t, uniqueID("msg"), `{"type":"`+kind+`"}`, "processed")
	b := newBrowser(t).withoutScripts().as(access.RoleViewer)
	b.open("/console/events?provider=homemade&type=" + kind)
	require.Equal(t, 1, b.count("#rows tr"))
	require.Zero(t, b.count("#live:not([hidden])"), "no button is there that does nothing")
	b.submit("#rows a")
	require.Equal(t, "/console/events/"+id, b.path())
	require.Zero(t, b.count("button.copy:not([hidden])"))
}

// A page follows even if its scripts arrive slowly, one by one.
func TestAPageFollowsOnASlowLine(t *testing.T) {
	t.Parallel()
	kind := uniqueID("note")
	b := newBrowser(t).as(access.RoleViewer)
	require.NoError(t, chromedp.Listen(b.ctx, func(happened any) {
		if paused, ok := happened.(*fetch.EventRequestPaused); ok {
			time.AfterFunc(time.Second, func() {
				_, _ = chromedp.Run(b.ctx, call(fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: paused.RequestID}))
			})
		}
	}))
	do(b, call(fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*/hx-sse*"}}}))
	b.open("/console/events?provider=homemade&type=" + kind)
	sent := holdfast.send(t, uniqueID("msg"), `{"type":"`+kind+`"}`)
	b.await("#rows", sent[len(sent)-8:])
}

// A click on a bar lists the events of its time; the table below leads to the same lists.
func TestABarLeadsToItsEvents(t *testing.T) {
	t.Parallel()
	id := holdfast.sent(t, uniqueID("msg"), `{"type":"note"}`, "processed")
	since := event.AcceptedAt(id).Truncate(5 * time.Minute)
	const minute = "2006-01-02T15:04Z"
	list := "/console/events?since=" + since.Format(minute) + "&until=" + since.Add(5*time.Minute).Format(minute) + "&provider=homemade"
	bar := `.bars a[href="` + list + `"]`
	b := newBrowser(t).as(access.RoleViewer)
	eventually(t, "the bar of the event", func() error {
		b.open("/console/events?provider=homemade&since=1h")
		if b.count(bar) != 1 {
			return errors.New("there is none")
		}
		return nil
	})
	b.requireAccessible()
	require.Contains(t, do(b, chromedp.Evaluate[string](`document.querySelector('`+bar+` title').textContent`)), "processed")
	require.Equal(t, 1, b.count(`.chart tbody a[href="`+list+`"]`))
	do(b, chromedp.Evaluate[bool](`document.querySelector(".chart details").open = true`))
	b.requireAccessible()
	require.Equal(t, 200, b.submit(bar+" .column"))
	require.Equal(t, list, b.path())
	require.Equal(t, 1, b.count(".bars a"), "the chart is that of the bar")
	listed := do(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll("#rows time.clock")].map((at) => at.dateTime)`))
	require.NotEmpty(t, listed)
	for _, text := range listed {
		at, err := time.Parse(time.RFC3339Nano, text)
		require.NoError(t, err)
		require.WithinRange(t, at, since.Add(-time.Second), since.Add(5*time.Minute))
	}

	b.open("/console/providers/homemade?window=30d")
	require.NotZero(t, b.count(".bars a"))
	b.requireAccessible()
	require.Equal(t, 400, b.open("/console/providers/homemade?window=31d"))
}
