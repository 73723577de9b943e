// Package console renders the operators' web interface. It reads and changes through the API's interfaces, so roles see and may
// do the same in both. Every page works without JavaScript.
//
// It must not import PostgreSQL, the persistence package or Temporal's client, nor authenticate users: package operator does.
package console

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/internal/lint"
	"holdfast/internal/word"
	"holdfast/operator/api"
	"holdfast/operator/console/eventtypes"
	"holdfast/operator/console/frame"
	"holdfast/operator/console/gaps"
	"holdfast/operator/console/manual"
	"holdfast/operator/console/plot"
	"holdfast/operator/guard"
	"holdfast/operator/httpapi"
	"holdfast/providers"
)

// Home is the console's first page.
const Home = frame.Home

// Options configure the console.
type Options struct {
	// API serves all reads and changes.
	API *api.API
	// Prefix is the path under which a proxy serves the operator side, like "/holdfast", or "".
	Prefix string
	// Doctor checks the installation and History keeps its metrics; nil leaves them out.
	Doctor  Doctor
	History plot.History
	// TemporalWeb is the origin of Temporal Web, and Namespace the one with the workflows; "" leaves the links out.
	TemporalWeb, Namespace string
	// TraceURL is the URL of a trace, containing {trace_id}; "" leaves the links out.
	TraceURL string
	// Version is the build shown on pages.
	Version string
	Log     *slog.Logger
	// Definitions are the providers' definitions, and Refusals count this process's refused requests; nil leaves either out.
	Definitions *providers.Live
	Refusals    api.RefusalMemory
	// Replaying is how the installation replays dead events whose definition doesn't say.
	Replaying lint.Replaying
	// PublicURL is the ingress's URL as senders see it, for trying requests; "" if unknown.
	PublicURL string
}

// Console is the operators' web interface.
type Console struct {
	Options
	*frame.Frame

	// counted is the last result of attention.
	counted       atomic.Pointer[counted]
	chartFailures chartFailures
	gaps          gaps.Finder
	// trying has room for one page that runs a definition on a request; see startTrying.
	trying chan struct{}
}

//go:embed templates
var templates embed.FS

// New returns a Console.
func New(o Options) *Console {
	c := &Console{Options: o, trying: make(chan struct{}, 1)}
	c.gaps.Definitions, c.gaps.Mappings = o.Definitions, o.API.Mappings
	c.Frame = frame.New(frame.Options{
		Prefix: o.Prefix, Version: o.Version, Pages: templates, Counts: c.attention,
		Functions: template.FuncMap{"object": c.objectPath, "value": value, "wants": selected,
			"every":   func(d event.Duration) string { return word.Duration(time.Duration(d)) },
			"blocked": func(waits string) string { return blockedBy[waits] },
		},
	})
	return c
}

// Site returns the console for the operator server.
func (c *Console) Site() *guard.Site {
	var all []guard.Page
	for _, routes := range [][]route{
		c.nowRoutes(), c.eventRoutes(), c.deadLetterRoutes(), c.entityRoutes(), c.deliveryRoutes(), c.destinationRoutes(),
		c.providerRoutes(), c.operationRoutes(), c.auditRoutes(), c.manualRoutes(),
	} {
		for _, r := range routes {
			all = append(all, guard.Page(r))
		}
	}
	if c.API.EventTypes != nil {
		all = append(all, eventtypes.Pages{Frame: c.Frame, API: c.API.EventTypes}.Routes()...)
	}
	return c.Frame.Site(all)
}

func (c *Console) manualRoutes() []route {
	return []route{
		{"GET", frame.Manual, c.showManual},
		{"GET", frame.Manual + "/:name", c.showManual},
		{"GET", frame.Manual + "/images/:name", c.showPicture},
	}
}

// showPicture returns a picture of the documentation, which changes only with the program.
func (c *Console) showPicture(ctx *fiber.Ctx) error {
	name, err := httpapi.PathText(ctx, "name")
	if err != nil {
		return err
	}
	picture, err := manual.Image(name)
	if err != nil {
		return event.ErrNotFound
	}
	ctx.Set(fiber.HeaderContentType, "image/webp")
	ctx.Set(fiber.HeaderCacheControl, "private, max-age=3600")
	return ctx.Send(picture)
}

// manualPage is the data of a page of the documentation.
type manualPage struct {
	manual.Page

	// Query is what was searched for, and Found the result.
	Query string
	Found []manual.Found
}

// showManual shows a page of the documentation, or the index with the result of a search.
func (c *Console) showManual(ctx *fiber.Ctx) error {
	name := manual.Index
	if ctx.Params("name") != "" {
		var err error
		if name, err = httpapi.PathText(ctx, "name"); err != nil {
			return err
		}
	}
	page, err := manual.Read(c.Prefix+frame.Manual, name)
	if errors.Is(err, fs.ErrNotExist) {
		return event.ErrNotFound
	}
	if err != nil {
		return err
	}
	data := manualPage{Page: page, Query: strings.TrimSpace(ctx.Query("q"))}
	data.Found = manual.Search(data.Query)
	return c.Show(ctx, "manual", frame.Page{Title: page.Title, Section: "Documentation", Data: data})
}

// route is a page or the target of a form. Package access defines the role that it needs.
type route struct {
	Method, Path string
	Handler      fiber.Handler
}

const (
	// countedFor is how long the navigation shows a count before it counts again.
	countedFor = 3 * time.Second
	// countTimeout is how long a page waits for counts. It is shown without them while the database is slow.
	countTimeout = 500 * time.Millisecond
)

// counted is what needed attention at a time, by section.
type counted struct {
	at     time.Time
	counts map[string]int64
}

// attention counts what needs attention, by section of the navigation. Failures are remembered as well, so that pages don't wait
// for a database that is down.
func (c *Console) attention(ctx context.Context) map[string]int64 {
	if c.API.Stats == nil {
		return nil
	}
	if last := c.counted.Load(); last != nil && time.Since(last.at) < countedFor {
		return last.counts
	}
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	now := &counted{at: time.Now()}
	if n, err := c.API.Stats.Attention(ctx); err == nil {
		now.counts = map[string]int64{"Dead letters": n.DeadLetters, destinations: n.FailingDestinations}
	}
	c.counted.Store(now)
	return now.counts
}

// countsOf counts the rows of a list by state, or returns nil while the database is slow: then the list is shown without counts.
func (c *Console) countsOf(ctx context.Context, count func(context.Context, api.ListCounter) (event.Counts, error)) event.Counts {
	if c.API.Counts == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	counts, err := count(ctx, c.API.Counts)
	c.chartFailures.note(c.Log, "counts", err)
	if err != nil {
		return nil
	}
	return counts
}

// namesOf returns states as texts.
func namesOf[S ~string](states []S) (names []string) {
	for _, s := range states {
		names = append(names, string(s))
	}
	return names
}
