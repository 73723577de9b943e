package console

import (
	"cmp"
	"context"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/feed"
	"holdfast/event/oversight"
	"holdfast/operator/api"
	"holdfast/operator/console/frame"
	"holdfast/operator/console/gaps"
	"holdfast/operator/console/plot"
	"holdfast/operator/httpapi"
)

func (c *Console) eventRoutes() []route {
	if c.API.Events == nil {
		return nil
	}
	return []route{
		{"GET", eventsList, c.listEvents},
		{"GET", "/console/events/tail", c.tailEvents},
		{"GET", "/console/find", c.findAnything},
		{"GET", "/console/events/:id", c.showEvent},
		{"GET", "/console/events/:id/live", c.followEvent},
		{"GET", "/console/events/:id/raw", c.API.DownloadBody},
		{"POST", "/console/events/:id/replay", c.replayEvent},
		{"GET", "/console/events/:id/edit", c.showEdit},
		{"POST", "/console/events/:id/edit", c.editEvent},
		{"GET", "/console/events/:id/resend", c.confirmResendDelivery},
		{"POST", "/console/events/:id/resend", c.resendDelivery},
		{"GET", "/console/events/:id/cancel", c.confirmCancel},
		{"POST", "/console/events/:id/cancel", c.cancelDelivery},
	}
}

// eventList is the data of the page of events.
type eventList struct {
	Filter url.Values
	Chips  frame.Filters
	// DeliveryStatuses are the filter's choices; empty without deliveries.
	DeliveryStatuses []delivery.Status

	// Gaps are the filter's providers whose rules for entities find nothing.
	Gaps []gaps.Gap
	// Chart counts the events of the filter's provider and time range; nil if the filter has more than these.
	Chart *plot.Bars
	// Suggestions are the filters' suggestions.
	Suggestions suggestions
	Rows        []api.EventView
	// Accepted are the page's events that wait for a worker. They are separate because the tail, which updates rows every second,
	// would query Temporal each time.
	Accepted []api.EventView
	// Note says what is missing from the page.
	Note  string
	Pager frame.Pager
	// Tail is the URL that streams updates of the page. It is "" on further pages, if the time range has an end, and in text
	// searches, which cost too much to repeat.
	Tail string
	// CanSearch reports whether the user may search in bodies.
	CanSearch bool
	// IsShort reports that the search reached its limit and continues on the next page.
	IsShort bool
}

func (c *Console) listEvents(ctx *fiber.Ctx) error {
	wanted, err := c.API.EventQuery(ctx)
	if err != nil {
		return err
	}
	list, err := c.API.ListEvents(ctx.UserContext(), wanted)
	if err != nil {
		return err
	}
	filter := frame.QueryOf(ctx)
	data := eventList{Filter: filter, Pager: c.Pager(ctx, list.Next), Note: list.Note}
	if c.API.Outbound != nil {
		data.DeliveryStatuses = delivery.Statuses()
	}
	if data.Suggestions, err = c.suggestions(ctx.UserContext()); err != nil {
		return err
	}
	data.Gaps = slices.DeleteFunc(c.gaps.Find(ctx.UserContext()), func(g gaps.Gap) bool {
		return wanted.Provider != "" && g.Provider != wanted.Provider
	})
	data.Chart = c.chartOfList(ctx.UserContext(), filter, wanted)
	data.Chips = c.eventChips(ctx.UserContext(), filter, wanted)
	data.Accepted, data.Rows = splitAccepted(list.Items)
	data.IsShort = list.Next != "" && len(list.Items) < wanted.Limit
	data.CanSearch = !httpapi.IsViewer(ctx)
	if wanted.Before == "" && wanted.Until.IsZero() && wanted.Text == "" {
		data.Tail = c.Prefix + "/console/events/tail?" + filter.Encode()
	}
	return c.Show(ctx, "events", frame.Page{Title: "Events", Section: "Events", Data: data})
}

// eventChips returns the filters of a list of events. A source is one of a provider, and an entity is named by three of them.
func (c *Console) eventChips(ctx context.Context, filter url.Values, wanted event.RecordQuery) frame.Filters {
	counts := c.countsOf(ctx, func(ctx context.Context, of api.ListCounter) (event.Counts, error) {
		return of.EventCounts(ctx, wanted)
	})
	statuses := frame.States{Parameter: "status", Names: namesOf(event.Statuses()), Counts: counts}
	return frame.NewFilters(eventsList, filter, statuses, map[string][]string{
		"provider": {"source", "entity_kind", "entity_id"}, "entity_kind": {"entity_id"}, "entity_id": {"entity_kind"},
	})
}

// eventsList is the path of the list of events.
const eventsList = "/console/events"

// chartTimeout is how long a page waits for its chart. It is shown without one while the database is slow.
const chartTimeout = 2 * time.Second

// results are the parts of a chart of events.
var results = []plot.Part{
	{Name: "processed", Class: "processed"}, {Name: "ignored", Class: "ignored"}, {Name: "dead", Class: "dead"},
}

// rangesOf returns the time ranges that charts offer: path returns the path of the page with one. The default range is a day.
func rangesOf(current string, path func(length string) string) (all []plot.Range) {
	for _, offered := range []struct{ name, length string }{
		{"1 hour", "1h"}, {"6 hours", "6h"}, {"24 hours", "24h"}, {"7 days", "7d"}, {"30 days", "30d"},
	} {
		all = append(all, plot.Range{
			Name: offered.name, Path: path(offered.length), IsCurrent: offered.length == cmp.Or(current, "24h"),
		})
	}
	return all
}

// chartSince returns the beginning of the charts on a page that has nothing else with a time range, and the range as its URL has
// it.
func chartSince(ctx *fiber.Ctx) (since time.Time, window string, err error) {
	window = ctx.Query("window", "24h")
	length, err := httpapi.Duration(httpapi.CodeBadField, "window", window, oversight.MinStep, oversight.KeptHistory)
	return time.Now().Add(-length), window, err
}

// windowsOf returns the time ranges of the page at a path.
func windowsOf(current, path string) []plot.Range {
	return rangesOf(current, func(length string) string { return path + "?" + frame.Query("window", length) })
}

// chartOfList returns the chart above a list of events, or nil: events are counted by provider and time only, and further pages
// have none.
func (c *Console) chartOfList(ctx context.Context, filter url.Values, wanted event.RecordQuery) *plot.Bars {
	for name := range filter {
		if filter.Get(name) != "" && !slices.Contains([]string{"provider", "since", "until", "limit"}, name) {
			return nil
		}
	}
	chart := c.eventChart(ctx, wanted.Provider, wanted.Since, wanted.Until)
	if chart != nil {
		current := filter.Get("since")
		if filter.Get("until") != "" {
			current = "-"
		}
		chart.Ranges = rangesOf(current, func(since string) string { return eventsPath(wanted.Provider, since, "") })
	}
	return chart
}

// eventChart draws the results of a provider's events, or of all. It is nil if they aren't counted.
func (c *Console) eventChart(ctx context.Context, provider string, since, until time.Time) *plot.Bars {
	span, ok := oversight.SpanOf(since, until, time.Now())
	if c.API.Stats == nil || !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, chartTimeout)
	defer cancel()
	buckets, err := c.API.Stats.EventHistory(ctx, provider, span)
	step := time.Duration(span.Step)
	chart := &plot.Bars{
		Title: "Events by the time of their acceptance and by result", Empty: "No events were counted in this time.",
		Parts: results, Since: span.Since, Until: span.Until, Step: step, List: eventsPath(provider, "", ""),
	}
	if c.chartFailures.note(c.Log, "events", err); err != nil {
		chart.Empty = unreadChart
	}
	for _, b := range buckets {
		if b.Dead > 0 {
			chart.Note = "Events that couldn't be parsed count as dead, but lists of events don't have them:"
			chart.NoteLink, chart.NotePath = "dead letters since then", deadLettersSince(provider, span.Since)
		}
		chart.Bars = append(chart.Bars, plot.Bar{
			At: b.At, Counts: []int64{b.Processed, b.Ignored, b.Dead},
			Path: eventsPath(provider, b.At.Format(minuteOfURL), b.At.Add(step).Format(minuteOfURL)),
		})
	}
	return chart
}

// deadLettersSince returns the path of the list of a provider's dead letters that have failed since a time.
func deadLettersSince(provider string, since time.Time) string {
	filter := url.Values{"since": {since.Format(minuteOfURL)}}
	if provider != "" {
		filter.Set("provider", provider)
	}
	return deadLetterListPath + "?" + filter.Encode()
}

// chartFailures remembers why counts couldn't be read, so that each cause is logged once until they can be read again.
type chartFailures struct {
	mu     sync.Mutex
	causes map[string]error
}

// unreadChart is the text of a chart that couldn't be read.
const unreadChart = "This chart can't be shown now: the database didn't give its numbers. Load the page again."

// note logs the error of a count if it has a new cause. what is counted.
func (f *chartFailures) note(log *slog.Logger, what string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.causes == nil {
		f.causes = map[string]error{}
	}
	before := f.causes[what]
	if f.causes[what] = err; err == nil {
		return
	}
	if before == nil || event.CodeOf(before) != event.CodeOf(err) {
		log.Error("operator.chart_failed", "chart", what, "error", err)
	}
}

// minuteOfURL is the format of a minute in UTC in a URL.
const minuteOfURL = "2006-01-02T15:04Z"

// eventsPath returns the path of the list of a provider's events in a time range. since and until are what a filter takes; "" for
// no filter.
func eventsPath(provider, since, until string) string {
	var query []string
	if since != "" {
		query = append(query, "since="+since)
	}
	if until != "" {
		query = append(query, "until="+until)
	}
	if provider != "" {
		query = append(query, "provider="+url.QueryEscape(provider))
	}
	return strings.TrimSuffix(eventsList+"?"+strings.Join(query, "&"), "?")
}

// splitAccepted separates the events that wait for a worker from the others.
func splitAccepted(all []api.EventView) (accepted, rows []api.EventView) {
	for _, e := range all {
		if e.Status == event.StatusAccepted {
			accepted = append(accepted, e)
		} else {
			rows = append(rows, e)
		}
	}
	return accepted, rows
}

// tailEvents streams the rows of the list as server-sent events whenever they change. Under load, it sends all rows of the first
// page once per second and skips updates in between.
func (c *Console) tailEvents(ctx *fiber.Ctx) error {
	wanted, err := c.API.EventQuery(ctx)
	if err != nil {
		return err
	}
	if wanted.Text != "" {
		return httpapi.BadField("text")
	}
	changed := make(chan struct{}, 1)
	background := func(ctx context.Context) { c.followFeed(ctx, wanted.Provider, changed) }
	return c.Stream(ctx, changed, background, func(ctx context.Context) ([]byte, error) { return c.eventRows(ctx, wanted) })
}

// followFeed follows the change feed for a provider's events and signals each change on changed. It returns immediately if
// the feed has too many followers or can't be read; the page then polls.
func (c *Console) followFeed(ctx context.Context, provider string, changed chan<- struct{}) {
	now, err := c.API.Changes.Now(ctx)
	if err != nil {
		return
	}
	follower, err := c.API.Live.Join(ctx, now, feed.Filter{Provider: provider})
	if err != nil {
		return
	}
	wake(changed) // for changes between drawing the page and following
	_ = follower.Run(ctx, func(b feed.Batch) error {
		if len(b.Items) > 0 || b.Skipped > 0 {
			wake(changed)
		}
		return nil
	})
}

func wake(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default: // a signal is already pending
	}
}

// eventRows renders the current rows of a list.
func (c *Console) eventRows(ctx context.Context, wanted event.RecordQuery) ([]byte, error) {
	shown, err := c.API.StoredEvents(ctx, wanted)
	if err != nil {
		return nil, err
	}
	return c.Fragment("events", "event-rows", shown)
}
