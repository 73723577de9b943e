package frame

import (
	"context"
	"html/template"
	"io/fs"
	"sync/atomic"

	"github.com/gofiber/fiber/v2"

	"holdfast/operator/guard"
)

// Home is the console's first page.
const Home = guard.ConsoleHome

// Counter counts what needs attention, by the name of its section in the navigation.
type Counter func(ctx context.Context) map[string]int64

// Options configure the frame.
type Options struct {
	// Prefix is the path under which a proxy serves the operator side, like "/holdfast", or "".
	Prefix string
	// Version is the build shown on pages.
	Version string
	// Pages holds the pages' templates in a folder; Functions are additional template functions.
	Pages     fs.FS
	Functions template.FuncMap
	// Counts may be nil: then the navigation has no counts.
	Counts Counter
}

// Frame renders the pages.
type Frame struct {
	prefix, version string
	counts          Counter

	templates map[string]*template.Template
	routes    []guard.Page
	// streams ends with the server, and with it every stream.
	streams context.Context //nolint:containedctx // bound to the server, not to a request
	close   func()
	// streaming counts open streams.
	streaming atomic.Int32
}

// New returns a Frame. Templates are part of the program, so New panics if one is invalid.
func New(o Options) *Frame {
	f := &Frame{prefix: o.Prefix, version: o.Version, counts: o.Counts}
	f.streams, f.close = context.WithCancel(context.Background()) //nolint:gosec // Site passes close on
	f.templates = parse(o.Pages, f.functions(o.Functions))
	return f
}

// Site returns the pages for the operator server, with those that every site needs.
func (f *Frame) Site(pages []guard.Page) *guard.Site {
	f.routes = append([]guard.Page{
		{Method: fiber.MethodGet, Path: "/console/assets/:version/:name", Handler: f.asset},
		{Method: fiber.MethodGet, Path: loginPath, Handler: f.showLogin},
		{Method: fiber.MethodPost, Path: loginPath, Handler: f.logIn},
		{Method: fiber.MethodPost, Path: "/console/logout", Handler: f.logOut},
		{Method: fiber.MethodPost, Path: "/console/theme", Handler: f.setTheme},
	}, pages...)
	return &guard.Site{Home: Home, Fail: f.Fail, Close: f.close, Pages: f.routes}
}
