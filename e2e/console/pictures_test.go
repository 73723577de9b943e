package console

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/stacktest"
)

var update = flag.Bool("update", false, "write the pictures of the documentation again, and what they show")

// picture is a page of the console in docs/images. skip are selectors of what differs between two runs of the same content.
type picture struct{ name, path, skip string }

// depends is what depends on the machine or on the moment, on any page.
const depends = `svg, .axis, .scale, .legend, #live, footer, button.copy`

// The documentation shows the console as it is.
//
// Two machines draw the same page with other fonts and another Chromium, so their pixels can't be compared: with a tolerance that
// survives other letters, a missing column survives as well. What is compared is what these pixels are made of, and the same on
// every machine: the texts in the order of the page, each in its element and the boxes around it, and each kind of element's size,
// weight, colors, borders and spaces, as the style sheet has computed them. Times, durations and IDs are masked. So the test fails
// when a text, an element or a style has changed, and -update then writes the pictures again with the texts next to them:
//
//	go test ./e2e/console -run TestThePicturesShowThePages -update
func TestThePicturesShowThePages(t *testing.T) {
	t.Parallel()
	g := newGallery(t)
	g.fill(t)
	event := g.one(t, "/events?type=invoice.paid", "items", "0", "id")
	letter := g.one(t, "/dead-letters?state=open", "items", "0", "id")
	g.awaitFixed(t, letter)
	root, err := stacktest.RepositoryRoot()
	require.NoError(t, err)
	b := newBrowser(t)
	b.origin = g.operator
	b.with(g.token).in(window{1320, 860, "light"})
	do(b, call(emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "UTC"}))
	for _, p := range []picture{
		// The doctor's findings depend on the machine; rates, queues and schedules, on the moment.
		{"now", "", `.plots, .problems article:not(:has(a[href$="/dead-letters"], a[href$="/destinations/warehouse"])), ` +
			`section:has(> #well) > :not(.problems), section:has(> :is(#queues, #schedules, #errors, #hour)) > :not(h2)`},
		{"connect", "/providers/github/connect", ""},
		{"events", "/events", ""},
		{"event", "/events/" + event, ".timeline small"},
		{"dead-letters", "/dead-letters", ""},
		{"dead-letter", "/dead-letters/" + letter + "?try=yes", ""},
		{"replay", "/dead-letters/replay?provider=orders", ""},
		{"entity", "/entities/stripe/customer/cus_SgX4mPqLr8Tn2V", ""},
		{"destinations", "/destinations", ""},
		{"destination", "/destinations/warehouse", ""},
	} {
		require.Equal(t, 200, b.open("/console"+p.path), p.name)
		if p.name == "now" {
			b.await("#now", "checks healthy")
		}
		file := filepath.Join(root, "docs", "images", p.name)
		shown := b.outline(depends, p.skip)
		if *update {
			require.NoError(t, os.WriteFile(file+".webp", b.photograph(), 0o644))
			require.NoError(t, os.WriteFile(file+".txt", []byte(shown), 0o644))
			continue
		}
		stored, err := os.ReadFile(file + ".txt")
		require.NoError(t, err)
		assert.Empty(t, differences(string(stored), shown),
			"the page has changed since docs/images/%s.webp was made: look at it, and write all of them again with -update", p.name)
		require.FileExists(t, file+".webp")
	}
}

// differences returns the lines that only one of two texts has, or has more often.
func differences(before, after string) (lines []string) {
	count := map[string]int{}
	for line := range strings.Lines(before) {
		count[line]++
	}
	for line := range strings.Lines(after) {
		if count[line]--; count[line] < 0 {
			lines = append(lines, "+ "+strings.TrimRight(line, "\n"))
		}
	}
	for line := range strings.Lines(before) {
		if count[line] > 0 {
			count[line]--
			lines = append(lines, "- "+strings.TrimRight(line, "\n"))
		}
	}
	if len(lines) == 0 && before != after {
		return []string{"the same lines in another order"}
	}
	return lines
}

// awaitFixed waits until the process has the corrected definition, with which the dead letter would be processed.
func (g *gallery) awaitFixed(t *testing.T, letter string) {
	t.Helper()
	b := newBrowser(t)
	b.origin = g.operator
	b.with(g.token)
	eventually(t, "the corrected definition", func() error {
		b.open("/console/dead-letters/" + letter + "?try=yes")
		if b.count("#tried .flash.bad") > 0 {
			return fmt.Errorf("it says %s", b.text("#tried"))
		}
		return nil
	})
}

// photograph returns what the window shows, down to the end of the page, as WebP.
func (b *browser) photograph() []byte {
	b.t.Helper()
	size := do(b, chromedp.Evaluate[[]float64](`[innerWidth, Math.min(innerHeight, document.querySelector("footer").getBoundingClientRect().bottom)]`))
	quality := int64(75)
	shot := do(b, call(page.CaptureScreenshot, page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormatWebp, Quality: &quality, Clip: &page.Viewport{Width: size[0], Height: size[1], Scale: 1},
	}))
	require.Less(b.t, len(shot.Data), 100_000, "ten pictures are to stay below 1 MB")
	return shot.Data
}

// outline returns the page's visible texts in their boxes, and the computed styles of its kinds of elements.
func (b *browser) outline(skip, more string) string {
	b.t.Helper()
	if more != "" {
		skip += ", " + more
	}
	quoted, err := json.Marshal(skip)
	require.NoError(b.t, err)
	text := do(b, chromedp.Evaluate[string]("("+outlineScript+")("+string(quoted)+")"))
	for _, m := range masked {
		text = m.pattern.ReplaceAllString(text, m.with)
	}
	return text
}

// masked is what two runs of the same content have different.
var masked = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`\b127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`\bt=\d+,v1=[0-9a-f]+`), "t=TIME,v1=SIGNATURE"},
	{regexp.MustCompile(`\b1[789]\d{8}\b`), "SECONDS"},
	{regexp.MustCompile(`\bsha256:[0-9a-f]{8}\b`), "sha256:SHA"},
	{regexp.MustCompile(`\b\d+(\.\d+)? ?(ms|s|m|h|d)\b`), "DURATION"},
}

// outlineScript walks through what is visible. Colors are drawn to be read, since their notation depends on the browser.
const outlineScript = `(skip) => {
  const pen = Object.assign(document.createElement("canvas"), {width: 1, height: 1}).getContext("2d", {willReadFrequently: true});
  const color = (text) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = text;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return a === 0 ? "" : "#" + [r, g, b].map((n) => n.toString(16).padStart(2, "0")).join("") + (a < 255 ? "/" + a : "");
  };
  const boxes = "header, nav, main, section, article, form, table, thead, tbody, tr, ul, ol, li, dl, details, p, div, pre";
  const lines = [], styles = new Set();
  const name = (e) => [e.localName, ...[...e.classList].filter((c) => c !== "htmx-request" && c !== "new-day").sort()].join(".");
  const rounded = (text) => text.replace(/\d+\.\d+/g, (n) => String(Math.round(n * 10) / 10));
  const style = (e, hasText) => {
    const s = getComputedStyle(e), sides = ["Top", "Right", "Bottom", "Left"];
    const only = (value, ...of) => of.includes(value) ? value : "";
    const all = [only(s.display, "flex", "grid")];
    if (hasText) {
      all.push(s.fontSize + "/" + s.fontWeight, color(s.color), only(s.textAlign, "right", "center"), only(s.whiteSpace, "nowrap"));
    }
    all.push(color(s.backgroundColor) && "on " + color(s.backgroundColor));
    const around = (what) => sides.map((side) => s[what + side]).join(" ");
    if (around("padding") !== "0px 0px 0px 0px") all.push("padding " + around("padding"));
    const lined = sides.filter((side) => s["border" + side + "Width"] !== "0px");
    all.push(...lined.map((side) => side.toLowerCase() + " " + s["border" + side + "Width"] + " " + color(s["border" + side + "Color"])));
    if (/grid|flex/.test(s.display)) all.push("gap " + s.rowGap + " " + s.columnGap);
    return rounded(all.filter(Boolean).join(", "));
  };
  const walk = (e, depth) => {
    if (e.matches(skip) || !e.checkVisibility()) return;
    const isTime = e.localName === "time", isID = e.matches("code.id");
    const own = isTime ? "TIME" : isID ? "ID" :
      [...e.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE).map((n) => n.data).join(" … ").replace(/\s+/g, " ")
        .replace(/^( ?… ?)+|( ?… ?)+$/g, "").trim();
    const value = e.matches("select") ? "[" + e.selectedOptions[0]?.text + "]" :
      e.matches("input:not([type=hidden]), textarea") ? "[" + (e.value || e.placeholder) + "]" : "";
    const isBox = e.matches(boxes);
    if (isBox || own || value) {
      lines.push("  ".repeat(depth) + name(e) + (own || value ? ": " + (own || value) : ""));
      styles.add(name(e) + ": " + style(e, own || value));
    }
    if (isTime || isID || e.matches("select")) return;
    for (const child of e.children) walk(child, depth + (isBox ? 1 : 0));
  };
  for (const part of document.querySelectorAll("header.top, main")) walk(part, 0);
  return lines.join("\n") + "\n\nStyles\n\n" + [...styles].sort().join("\n") + "\n";
}`
