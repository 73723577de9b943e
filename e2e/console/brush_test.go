package console

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/operator/access"
)

// stepsOfHour is how many steps of five minutes the chart of an hour has.
const stepsOfHour = 12

// middle returns the middle of a step of the chart, in pixels of the window.
func (b *browser) middle(step int) (x, y float64) {
	b.t.Helper()
	box := do(b, chromedp.Evaluate[[]float64](`(() => {
		const svg = document.querySelector(".bars svg");
		svg.scrollIntoView({block: "center"});
		const box = svg.getBoundingClientRect();
		return [box.x, box.y, box.width, box.height];
	})()`))
	return box[0] + box[2]*(float64(step)+0.5)/stepsOfHour, box[1] + box[3]/2
}

// drag puts the mouse's button down in the middle of a step, and moves over the bars to another step.
func (b *browser) drag(from, to int) (x, y float64) {
	b.t.Helper()
	x, y = b.middle(from)
	do(b, chromedp.MouseEvent(chromedp.MousePressed, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
	held := func(p *input.DispatchMouseEventParams) { p.Button, p.Buttons = input.MouseButtonLeft, 1 }
	for i := range 5 {
		x, _ = b.middle(from + (to-from)*(i+1)/5)
		do(b, chromedp.MouseEvent(chromedp.MouseMoved, x, y, held))
	}
	return x, y
}

// release lets the mouse's button go.
func release(x, y float64) chromedp.Action[chromedp.Void] {
	return chromedp.MouseEvent(chromedp.MouseReleased, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1))
}

// touch moves a finger.
func (b *browser) touch(kind input.DispatchTouchEventType, points ...*input.TouchPoint) {
	b.t.Helper()
	do(b, call(input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: points}))
}

// A time range is chosen by dragging over the bars of a chart, with the mouse or a finger, or by keys; then its events are
// listed. Escape cancels.
func TestATimeRangeIsChosenInAChart(t *testing.T) {
	t.Parallel()
	id := holdfast.sent(t, uniqueID("msg"), `{"type":"note"}`, "processed")
	last := event.AcceptedAt(id).Truncate(5 * time.Minute)
	since := last.Add(-(stepsOfHour - 1) * 5 * time.Minute)
	pathOf := func(first, end int) string {
		const minute = "2006-01-02T15:04Z"
		at := func(step int) string { return since.Add(time.Duration(step) * 5 * time.Minute).Format(minute) }
		return "/console/events?provider=homemade&since=" + at(first) + "&until=" + at(end)
	}
	hour := pathOf(0, stepsOfHour)
	b := newBrowser(t).as(access.RoleViewer)
	eventually(t, "the bar of the event", func() error {
		if b.open(hour); b.count(".bars a") == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	b.requireAccessible()

	x, y := b.drag(2, 5)
	require.Equal(t, 1, b.count(".brush:not([hidden])"))
	require.Equal(t, 200, b.lead(release(x, y)))
	require.Equal(t, pathOf(2, 6), b.path())

	b.open(hour)
	x, y = b.drag(stepsOfHour-1, 9)
	require.Equal(t, 200, b.lead(release(x, y)), "from the right, and from a bar, which is a link")
	require.Equal(t, pathOf(9, stepsOfHour), b.path())

	b.open(hour)
	left := chromedp.Evaluate[bool](`globalThis.hasLeft ??
		(navigation.addEventListener("navigate", () => { hasLeft = true; }), globalThis.hasLeft = false)`)
	require.False(t, do(b, left))
	x, y = b.drag(stepsOfHour-1, stepsOfHour-1)
	x += 8
	do(b, chromedp.MouseEvent(chromedp.MouseMoved, x, y, func(p *input.DispatchMouseEventParams) { p.Buttons = 1 }))
	require.Equal(t, 1, b.count(".brush:not([hidden])"))
	do(b, chromedp.KeyEvent(kb.Escape))
	require.Zero(t, b.count(".brush:not([hidden])"))
	do(b, release(x, y))
	require.False(t, do(b, left), "neither the range nor the bar is opened")

	do(b, chromedp.Evaluate[bool](`document.querySelector(".bars [role=slider]").focus(), true`))
	for _, step := range []struct {
		key   string
		shift bool
		now   int
	}{{kb.ArrowLeft, false, 11}, {kb.ArrowLeft, false, 10}, {kb.ArrowLeft, true, 9}, {kb.ArrowLeft, true, 8}} {
		var with []chromedp.KeyOption
		if step.shift {
			with = append(with, chromedp.KeyModifiers(chromedp.ModifierShift))
		}
		do(b, chromedp.KeyEvent(step.key, with...))
		now := do(b, chromedp.Evaluate[string](`document.activeElement.getAttribute("aria-valuenow")`))
		require.Equal(t, fmt.Sprint(step.now), now)
	}
	b.requireAccessible()
	require.Equal(t, 200, b.lead(chromedp.KeyEvent(kb.Enter)))
	require.Equal(t, pathOf(7, 10), b.path())

	do(b, call(emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true}))
	b.open(hour)
	x, y = b.middle(3)
	b.touch(input.DispatchTouchEventTypeTouchStart, &input.TouchPoint{X: x, Y: y})
	for step := 4; step < 7; step++ {
		x, _ = b.middle(step)
		b.touch(input.DispatchTouchEventTypeTouchMove, &input.TouchPoint{X: x, Y: y})
	}
	lift := call(input.DispatchTouchEvent, input.DispatchTouchEventParams{
		Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{},
	})
	require.Equal(t, 200, b.lead(func(ctx context.Context, at *chromedp.Target) (none chromedp.Void, err error) {
		_, err = lift(ctx, at)
		return none, err
	}))
	require.Equal(t, pathOf(3, 7), b.path())
}

// The chart of a provider leads to the list of its events; without scripts, bars are links, and nothing else is offered.
func TestTheChartOfAProviderIsForChoosing(t *testing.T) {
	t.Parallel()
	holdfast.sent(t, uniqueID("msg"), `{"type":"note"}`, "processed")
	b := newBrowser(t).as(access.RoleViewer)
	eventually(t, "a bar", func() error {
		if b.open("/console/providers/homemade?window=1h"); b.count(".bars a") == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	do(b, chromedp.Evaluate[bool](`document.querySelector(".bars [role=slider]").focus(), true`))
	require.Equal(t, 200, b.lead(chromedp.KeyEvent(kb.Enter)))
	require.Contains(t, b.path(), "/console/events?provider=homemade&since=")
	require.Contains(t, b.path(), "&until=")

	quiet := newBrowser(t).as(access.RoleViewer).withoutScripts()
	quiet.open("/console/providers/homemade?window=1h")
	require.NotZero(t, quiet.count(".bars a[href]"))
	require.Zero(t, quiet.count("[role=slider]"))
	require.NotContains(t, quiet.page(), "Drag")
}
