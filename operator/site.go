package operator

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"

	"holdfast/operator/access"
	"holdfast/operator/exchange"
)

// Site is what browsers get beside the API: see package operator/console. Its pages stand behind the same gate.
type Site struct {
	// Home is its first page; everything that begins with it is the site's.
	Home  string
	Pages []Page
	// Fail answers, as a page, what went wrong with a request for one.
	Fail func(*fiber.Ctx, exchange.Failure) error
	// Close ends the answers that last; nil where there are none.
	Close func()
}

// Page is one route of a site. Package access has the role that it needs.
type Page struct {
	Method, Path string
	Handler      fiber.Handler
}

// owns says whether a path is one of the site.
func (s *Site) owns(path string) bool {
	return s != nil && (path == s.Home || strings.HasPrefix(path, s.Home+"/"))
}

// add registers the pages, and leads browsers to the first of them.
func (s *Site) add(app *fiber.App, g *gate, prefix string) {
	app.Add(fiber.MethodGet, "/", func(c *fiber.Ctx) error {
		c.Vary(fiber.HeaderAccept)
		if c.Accepts(fiber.MIMEApplicationJSON, fiber.MIMETextHTML) != fiber.MIMETextHTML {
			return c.Next()
		}
		return c.Redirect(prefix+s.Home, fiber.StatusSeeOther)
	})
	for _, p := range s.Pages {
		app.Add(p.Method, p.Path, g.guard(access.Needs(p.Method, p.Path), true), p.Handler)
	}
	app.All(s.Home+"/*", g.guard(access.RoleViewer, true), func(c *fiber.Ctx) error {
		if path := strings.TrimRight(c.Path(), "/"); path != c.Path() && c.Method() == fiber.MethodGet {
			if asked := c.Request().URI().QueryString(); len(asked) > 0 {
				path += "?" + string(asked)
			}
			return c.Redirect(prefix+path, fiber.StatusSeeOther)
		}
		return exchange.Refuse(exchange.CodeNotFound)
	})
}

// fail answers with a page. What makes that impossible is an error like any other: Fiber recovers from nothing here.
func (s *Site) fail(c *fiber.Ctx, f exchange.Failure) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("draw the page of a failure: %v", cause)
		}
	}()
	return s.Fail(c, f)
}

// onPages is what a page says where the table speaks to programs.
var onPages = map[exchange.Code]string{
	exchange.CodeUnauthenticated: "You are not logged in.",
	exchange.CodeNotFound:        "There is no such page.",
}

// FailureOf is an error as pages show it.
func FailureOf(c *fiber.Ctx, err error) exchange.Failure {
	f := exchange.FailureOf(c, err)
	f.Message = cmp.Or(onPages[f.Code], f.Message)
	return f
}

// withoutPrefix takes requests that a proxy passes on with its prefix as those that it passes on without.
func withoutPrefix(prefix string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		rest, ok := strings.CutPrefix(c.Path(), prefix)
		if !ok || rest != "" && rest[0] != '/' {
			return c.Next()
		}
		if rest == "" {
			rest = "/"
		}
		c.Path(rest)
		return c.RestartRouting()
	}
}
