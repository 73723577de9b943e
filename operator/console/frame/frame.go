package frame

import (
	"context"
	"html/template"
	"io/fs"
	"sync/atomic"

	"github.com/gofiber/fiber/v2"

	"holdfast/operator"
)

// Home is the console's first page.
const Home = operator.ConsoleHome

// Options are what the frame needs to know.
type Options struct {
	// Prefix is the path under which a proxy shows the operator side, like "/holdfast"; "" is none.
	Prefix string
	// Version is the build that pages name.
	Version string
	// Pages are the templates of pages, in a folder; Functions, what they call beside what all may.
	Pages     fs.FS
	Functions template.FuncMap
}

// Frame is what all pages share.
type Frame struct {
	prefix, version string

	templates map[string]*template.Template
	routes    []operator.Page
	// streams ends with the server, and with it every answer that lasts.
	streams context.Context //nolint:containedctx // the life of the server, which is that of no request
	close   func()
	// streaming counts them.
	streaming atomic.Int32
}

// New makes one. Templates are part of the program, so one that cannot be read is a mistake of ours.
func New(o Options) *Frame {
	f := &Frame{prefix: o.Prefix, version: o.Version}
	f.streams, f.close = context.WithCancel(context.Background()) //nolint:gosec // Site hands close on
	f.templates = parse(o.Pages, f.functions(o.Functions))
	return f
}

// Site is the pages as the operator side takes them, with those that every one needs.
func (f *Frame) Site(pages []operator.Page) *operator.Site {
	f.routes = append([]operator.Page{
		{Method: fiber.MethodGet, Path: "/console/assets/:version/:name", Handler: f.asset},
		{Method: fiber.MethodGet, Path: loginPath, Handler: f.showLogin},
		{Method: fiber.MethodPost, Path: loginPath, Handler: f.logIn},
		{Method: fiber.MethodPost, Path: "/console/logout", Handler: f.logOut},
	}, pages...)
	return &operator.Site{Home: Home, Fail: f.Fail, Close: f.close, Pages: f.routes}
}
