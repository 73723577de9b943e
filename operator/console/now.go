package console

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/internal/word"
	"holdfast/operator/access"
	"holdfast/operator/console/frame"
	"holdfast/operator/console/gaps"
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
	"failing":       "/console/destinations?only=failing",
	"subscriptions": "/console/destinations",
	"providers":     "/console/providers",
	"recovery":      "/console/operations",
	"secrets":       "/console/providers",
	"samples":       "/console/providers",
	"source":        "/console/providers",
	"fields":        "/console/providers",
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
	CheckedAt time.Time
	Bad, Good []finding
	Problems  []problem
	Window    time.Duration
	Plots     []plot.Plot
	Stats     *oversight.Stats // nil if unavailable
	// DeadLetters counts those that need an operator, as the navigation does.
	DeadLetters int64
	Failing     []failing
	// Gaps are providers whose rules for entities find nothing. CountsGaps reports that the page has counted them.
	Gaps       []gaps.Gap
	CountsGaps bool
	Tail       string
	// First is a provider to connect while fewer than maxFirst events are stored, else nil. Its events are of all providers.
	First *connection
}

// Checks returns the number of checks.
func (p nowPage) Checks() int { return len(p.Bad) + len(p.Good) }

// problem is something that needs an operator.
type problem struct {
	Title, Detail string
	Since         time.Time
	// Next is what to do, and Page the path of the page for it, without the prefix, or "".
	Next, Page string
	// IsFailure reports that something doesn't work, rather than that it is at risk.
	IsFailure bool
}

// Opens names what Page shows, such as "dead letters" or a destination.
func (p problem) Opens() string {
	path, _, _ := strings.Cut(p.Page, "?")
	name := path[strings.LastIndexAny(path, "/#")+1:]
	if text, err := url.PathUnescape(name); err == nil {
		name = text
	}
	if slices.Contains(slices.Collect(maps.Values(pagesOf)), p.Page) {
		name = strings.ReplaceAll(name, "-", " ")
	}
	return name
}

// Since returns when the oldest problem began; zero without any.
func (p nowPage) Since() (oldest time.Time) {
	for _, one := range p.Problems {
		if oldest.IsZero() || !one.Since.IsZero() && one.Since.Before(oldest) {
			oldest = one.Since
		}
	}
	return oldest
}

// Stored counts the events of the last hour that were stored. Those that couldn't be parsed are dead letters instead.
func (p nowPage) Stored() (n int64) {
	if p.Stats != nil {
		for _, e := range p.Stats.Events {
			n += e.Count
		}
	}
	return n
}

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
	page.Gaps = c.gaps.Find(ctx)
	_, err := c.gaps.Counts(ctx)
	page.CountsGaps = c.API.Mappings != nil && err == nil
	c.addFindings(ctx, &page)
	ctx, cancel := context.WithTimeout(ctx, statsTimeout)
	defer cancel()
	page.First = c.first(ctx)
	if c.API.Stats == nil {
		c.addProblems(&page)
		return page
	}
	stats, err := c.API.Stats.Stats(ctx, time.Hour)
	if err != nil {
		c.Log.Error("operator.failed", "path", "/console", "error", err)
		c.addProblems(&page)
		return page
	}
	page.Stats = &stats
	for _, d := range waiting(stats.DeadLetters) {
		page.DeadLetters += d.Count
	}
	page.Failing = c.failing(ctx, stats.FailingDestinations)
	c.addProblems(&page)
	return page
}

// addProblems lists what needs an operator, failures first. Dead letters are those of the page's own counts: the doctor's are
// older, and one page must not have two figures for one thing. So are failing destinations.
func (c *Console) addProblems(page *nowPage) {
	if page.Stats != nil {
		addDeadLetters(page, c.pageOf("dead letters"))
		addFailing(page)
	}
	c.addRejected(page)
	addGaps(page, c.pageOf("providers"))
	for _, f := range page.Bad {
		isCounted := page.Stats != nil && (f.Check == "dead letters" || f.Check == "failing destinations")
		if !isCounted && (f.Check != checkOfGaps || !page.CountsGaps) {
			page.Problems = append(page.Problems, problem{f.Check, f.Detail, f.Since, f.Advice, f.Page, f.Result == "fail"})
		}
	}
	slices.SortStableFunc(page.Problems, func(a, b problem) int {
		switch {
		case a.IsFailure == b.IsFailure:
			return 0
		case a.IsFailure:
			return -1
		}
		return 1
	})
}

// checkOfGaps is the doctor's check of the same counts, which is older.
const checkOfGaps = "entities"

// addGaps adds each provider whose rules for entities find nothing.
func addGaps(p *nowPage, providersPath string) {
	for _, g := range p.Gaps[:min(len(p.Gaps), maxFailing)] {
		one := problem{
			Title: g.Provider + " changes too few entities", Detail: g.Text(),
			Next: "see on its page which rule it is, correct the definition, then rebuild the entities",
		}
		if providersPath != "" {
			one.Page = providersPath + "/" + pathEscape(g.Provider)
		}
		p.Problems = append(p.Problems, one)
	}
}

// waiting leaves out dead letters that are being replayed: they need no one.
func waiting(all []oversight.DeadLetterCount) []oversight.DeadLetterCount {
	return slices.DeleteFunc(slices.Clone(all), func(d oversight.DeadLetterCount) bool {
		return d.State == event.DeadLetterReplaying
	})
}

// addRejected adds the last reload of the definitions if it was rejected. What was wrong may be secret, and is on the page.
func (c *Console) addRejected(p *nowPage) {
	if c.Definitions == nil {
		return
	}
	if at := c.Definitions.Loading().RejectedAt; !at.IsZero() {
		p.Problems = append(p.Problems, problem{
			Title: "definitions", Detail: "the last reload was rejected, and the definitions before it stay in use", Since: at,
			Next: "correct the definition, then reload", Page: c.pageOf("providers"), IsFailure: true,
		})
	}
}

func addDeadLetters(p *nowPage, path string) {
	if p.DeadLetters == 0 {
		return
	}
	oldest, causes := p.At, waiting(p.Stats.DeadLetters)
	for _, d := range causes {
		if d.Oldest.Before(oldest) {
			oldest = d.Oldest
		}
	}
	p.Problems = append(p.Problems, problem{
		Title:  word.Count(p.DeadLetters, "open dead letter", "open dead letters"),
		Detail: word.Count(len(causes), "cause", "causes") + ", listed below", Since: oldest,
		Next: "fix a cause, then replay its dead letters, or discard them", Page: path, IsFailure: true,
	})
}

func addFailing(p *nowPage) {
	for _, d := range p.Failing {
		one := problem{
			Title: d.Name + " is failing", Detail: d.Failure, Next: "check the endpoint: the next event is sent as usual",
			Page: destinationPath(d.Name), IsFailure: true,
		}
		if n := d.Open(); n > 0 {
			one.Detail = strings.TrimPrefix(one.Detail+"; "+word.Count(n, "delivery", "deliveries")+" pending", "; ")
		}
		if d.CanRetry() {
			one.Next = "fix the endpoint, then choose Try again now"
		}
		if d.FailingSince != nil {
			one.Since = *d.FailingSince
		}
		p.Problems = append(p.Problems, one)
	}
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
			case f.Result != result || f.Check == checkOfGaps && len(page.Gaps) > 0:
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
