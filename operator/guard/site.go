package guard

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"

	"holdfast/operator/access"
	"holdfast/operator/httpapi"
)

// ConsoleHome is the console's first page; see package operator/console.
const ConsoleHome = "/console"

// Site serves the browser pages: see package guard/console. The same guard protects them.
type Site struct {
	// Home is the first page; all paths that begin with it belong to the site.
	Home  string
	Pages []Page
	// Fail responds with an error page.
	Fail func(*fiber.Ctx, httpapi.Failure) error
	// Close ends the site's streams; nil if there are none.
	Close func()
}

// Page is one route of a site. Package access defines the role that it needs.
type Page struct {
	Method, Path string
	Handler      fiber.Handler
}

// Owns reports whether a path belongs to the site.
func (s *Site) Owns(path string) bool {
	return s != nil && (path == s.Home || strings.HasPrefix(path, s.Home+"/"))
}

// Add registers the pages and redirects browsers to the first one.
func (s *Site) Add(app *fiber.App, g *Guard, prefix string) {
	app.Add(fiber.MethodGet, "/", func(c *fiber.Ctx) error {
		c.Vary(fiber.HeaderAccept)
		if c.Accepts(fiber.MIMEApplicationJSON, fiber.MIMETextHTML) != fiber.MIMETextHTML {
			return c.Next()
		}
		return c.Redirect(prefix+s.Home, fiber.StatusSeeOther)
	})
	for _, p := range s.Pages {
		app.Add(p.Method, p.Path, g.Require(access.Needs(p.Method, p.Path), true), p.Handler)
	}
	app.All(s.Home+"/*", g.Require(access.RoleViewer, true), func(c *fiber.Ctx) error {
		path := strings.TrimRight(c.Path(), "/")
		if path != c.Path() && c.Method() == fiber.MethodGet {
			if asked := c.Request().URI().QueryString(); len(asked) > 0 {
				path += "?" + string(asked)
			}
			return c.Redirect(prefix+path, fiber.StatusSeeOther)
		}
		return httpapi.Refuse(httpapi.CodeNotFound)
	})
}

// FailOn responds with an error page. If that panics, it returns an error, because Fiber recovers from nothing here.
func (s *Site) FailOn(c *fiber.Ctx, f httpapi.Failure) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("draw the page of a failure: %v", cause)
		}
	}()
	return s.Fail(c, f)
}

// pageMessages has messages for pages where the table's are meant for programs.
var pageMessages = map[httpapi.Code]string{
	httpapi.CodeUnauthenticated: "You are not logged in.",
	httpapi.CodeNotFound:        "Page not found.",
}

// FailureOf converts an error for pages.
func FailureOf(c *fiber.Ctx, err error) httpapi.Failure {
	f := httpapi.FailureOf(c, err)
	f.Message = cmp.Or(pageMessages[f.Code], f.Message)
	return f
}
