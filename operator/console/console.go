package console

import (
	"embed"
	"html/template"
	"log/slog"

	"github.com/gofiber/fiber/v2"

	"holdfast/operator"
	"holdfast/operator/api"
	"holdfast/operator/console/frame"
	"holdfast/operator/console/plot"
)

// Home is the console's first page.
const Home = frame.Home

// Options are what the console shows.
type Options struct {
	// API is read and changed through.
	API *api.API
	// Prefix is the path under which a proxy shows the operator side, like "/holdfast"; "" is none.
	Prefix string
	// Doctor examines the installation, and History keeps its metrics; nil leaves them out.
	Doctor  Doctor
	History plot.History
	// Finder finds events by what people have at hand.
	Finder Finder
	// TemporalWeb is the origin of Temporal Web, and Namespace the one that the workflows run in; "" leaves the links out.
	TemporalWeb, Namespace string
	// TraceURL is the address of a trace, with {trace_id} in it; "" leaves the links out.
	TraceURL string
	// Version is the build that pages name.
	Version string
	Log     *slog.Logger
	// Definitions are those of the providers, and Refusals why this process has refused requests; nil leaves either out.
	Definitions Definitions
	Refusals    operator.RefusalMemory
	// Receivers says how receivers do; nil leaves their pages out.
	Receivers Receivers
	// PublicURL is how senders see the ingress, for requests that are tried; "" if unknown.
	PublicURL string
}

// Console is what operators see in a browser.
type Console struct {
	Options
	*frame.Frame
}

//go:embed templates
var templates embed.FS

// New makes one.
func New(o Options) *Console {
	c := &Console{Options: o}
	c.Frame = frame.New(frame.Options{Prefix: o.Prefix, Version: o.Version, Pages: templates, Functions: template.FuncMap{
		"object": c.objectPath, "value": value, "wants": selected,
	}})
	return c
}

// Site is the console as the operator side takes it.
func (c *Console) Site() *operator.Site {
	var all []operator.Page
	for _, routes := range [][]route{
		c.nowRoutes(), c.eventRoutes(), c.letterRoutes(), c.entityRoutes(), c.deliveryRoutes(), c.receiverRoutes(),
		c.providerRoutes(), c.operationRoutes(), c.auditRoutes(),
	} {
		for _, r := range routes {
			all = append(all, operator.Page(r))
		}
	}
	return c.Frame.Site(all)
}

// route is one page, or what a form of one is sent to. Package access has the role that it needs.
type route struct {
	Method, Path string
	Handler      fiber.Handler
}
