package console

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/event/oversight"
	"holdfast/operator/access"
	"holdfast/operator/console/frame"
	"holdfast/operator/console/plot"
	"holdfast/operator/httpapi"
)

// finding is a result of the doctor, with the path of the page that helps, without the prefix, or "".
type finding struct {
	oversight.SeenFinding

	Page string
}

// pagesOf maps a check, by its name or the name's first word, to the page that helps with it.
var pagesOf = map[string]string{
	"inbox":         "/console#inbox",
	"queue":         "/console#queues",
	"queues":        "/console#queues",
	"schedule":      "/console#schedules",
	"dead letters":  "/console/dead-letters",
	"deliveries":    "/console/destinations?only=waiting",
	"destinations":  "/console/destinations",
	"subscriptions": "/console/destinations",
	"providers":     "/console/providers",
	"recovery":      "/console/operations",
	"secrets":       "/console/providers",
	"samples":       "/console/providers",
}

// pageOf returns the page that helps with a check, if this console has it.
func (c *Console) pageOf(check string) string {
	first, _, _ := strings.Cut(check, " ")
	page := cmp.Or(pagesOf[check], pagesOf[first])
	path := page
	if end := strings.IndexAny(page, "?#"); end >= 0 {
		path = page[:end]
	}
	if !c.May(access.RoleViewer, fiber.MethodGet, path) {
		return ""
	}
	return page
}

// Doctor returns the last examination. It returns when ctx ends at the latest.
type Doctor func(ctx context.Context) oversight.Examination

const (
	// findingsTimeout is how long a page waits for the doctor's first run; statsTimeout, for the counts.
	findingsTimeout = time.Second
	statsTimeout    = 3 * time.Second
	// maxFailing bounds the failing destinations that are shown.
	maxFailing = 10
)

func (c *Console) nowRoutes() []route {
	return []route{
		{"GET", "/console", c.showNow},
		{"GET", "/console/now/tail", c.tailNow},
	}
}

// nowPage is the data of the health page.
type nowPage struct {
	At time.Time
	// CheckedAt is when the findings were made.
	CheckedAt   time.Time
	Bad, Good   []finding
	Window      time.Duration
	Plots       []plot.Plot
	Stats       *oversight.Stats // nil if unavailable
	DeadLetters int64
	Failing     []failing
	Tail        string
	// First is a provider to connect while fewer than maxFirst events are stored, else nil. Its events are of all providers.
	First *connection
}

// Checks returns the number of checks.
func (p nowPage) Checks() int { return len(p.Bad) + len(p.Good) }

type failing struct {
	Name string
	delivery.Condition
}

// windowOf returns the time range of the plots.
func windowOf(ctx *fiber.Ctx) (time.Duration, error) {
	text := ctx.Query("window", "1h")
	return httpapi.Duration(httpapi.CodeBadField, "window", text, time.Minute, 6*time.Hour)
}

func (c *Console) showNow(ctx *fiber.Ctx) error {
	window, err := windowOf(ctx)
	if err != nil {
		return err
	}
	data := c.now(ctx.UserContext(), window)
	data.Tail = c.Prefix + "/console/now/tail?" + frame.Query("window", window.String())
	return c.Show(ctx, "now", frame.Page{Title: "Now", Section: "Now", Data: data})
}

func (c *Console) tailNow(ctx *fiber.Ctx) error {
	window, err := windowOf(ctx)
	if err != nil {
		return err
	}
	return c.Stream(ctx, nil, nil, func(ctx context.Context) ([]byte, error) {
		return c.Fragment("now", "now", c.now(ctx, window))
	})
}

// now collects what is available, because operators open this page when something is down.
func (c *Console) now(ctx context.Context, window time.Duration) nowPage {
	page := nowPage{At: time.Now(), Window: window, Plots: plot.All(c.History, window)}
	c.addFindings(ctx, &page)
	ctx, cancel := context.WithTimeout(ctx, statsTimeout)
	defer cancel()
	page.First = c.first(ctx)
	if c.API.Stats == nil {
		return page
	}
	stats, err := c.API.Stats.Stats(ctx, time.Hour)
	if err != nil {
		c.Log.Error("operator.failed", "path", "/console", "error", err)
		return page
	}
	page.Stats = &stats
	for _, d := range stats.DeadLetters {
		page.DeadLetters += d.Count
	}
	page.Failing = c.failing(ctx, stats.FailingDestinations)
	return page
}

func (c *Console) addFindings(ctx context.Context, page *nowPage) {
	if c.Doctor == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, findingsTimeout)
	defer cancel()
	last := c.Doctor(ctx)
	page.CheckedAt = last.At
	for _, result := range []oversight.CheckResult{"fail", "warn", "skip", "ok"} {
		for _, f := range last.Findings {
			switch {
			case f.Result != result:
			case result == "ok":
				page.Good = append(page.Good, finding{SeenFinding: f})
			default:
				page.Bad = append(page.Bad, finding{f, c.pageOf(f.Check)})
			}
		}
	}
}

func (c *Console) failing(ctx context.Context, names []string) (all []failing) {
	if c.API.Outbound == nil {
		return nil
	}
	for _, name := range names[:min(len(names), maxFailing)] {
		d, err := c.API.Outbound.Destinations.Destination(ctx, name)
		if err != nil {
			continue // it was deleted in the meantime
		}
		if condition, err := c.API.Outbound.Destinations.Condition(ctx, d.ID); err == nil {
			all = append(all, failing{d.Name, condition})
		}
	}
	return all
}
