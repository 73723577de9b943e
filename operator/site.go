package operator

import (
	"fmt"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event/oversight"
	"holdfast/operator/access"
)

// Site is what browsers get beside the API: see package operator/console. Its pages stand behind the same gate.
type Site struct {
	// Home is its first page; everything that begins with it is the site's.
	Home  string
	Pages []Page
	// Fail answers, as a page, what went wrong with a request for one.
	Fail func(*fiber.Ctx, Failure) error
	// Close ends the answers that last; nil where there are none.
	Close func()
}

// Page is one route of a site. One whose role is not said is closed.
type Page struct {
	Method, Path string
	Needs        access.Role
	Handler      fiber.Handler
}

// Anyone is the role that a page needs of those who have not logged in.
const Anyone = anyone

// Failure is an error as it is shown.
type Failure struct {
	Status        int
	Code, Message string
	// Field and Detail may be empty.
	Field, Detail string
	RequestID     string
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
		app.Add(p.Method, p.Path, g.guardPage(p.Needs), p.Handler)
	}
	app.All(s.Home+"/*", g.guardPage(access.RoleViewer), func(c *fiber.Ctx) error {
		if path := strings.TrimRight(c.Path(), "/"); path != c.Path() && c.Method() == fiber.MethodGet {
			if asked := c.Request().URI().QueryString(); len(asked) > 0 {
				path += "?" + string(asked)
			}
			return c.Redirect(prefix+path, fiber.StatusSeeOther)
		}
		return refuse(codeNotFound)
	})
}

// fail answers with a page. What makes that impossible is an error like any other: Fiber recovers from nothing here.
func (s *Site) fail(c *fiber.Ctx, f Failure) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("draw the page of a failure: %v", cause)
		}
	}()
	return s.Fail(c, f)
}

// CallerOf is who makes a request that has passed the gate.
func CallerOf(c *fiber.Ctx) access.Caller { return callerOf(c) }

// Actor is who changes something by this request, and why.
func Actor(c *fiber.Ctx, reason string) oversight.Actor { return actor(c, reason) }

// BadField refuses a request for the value of one field or parameter.
func BadField(field string) error { return refuseField(codeBadField, field) }

// BadParameter refuses a request for the value of one parameter.
func BadParameter(field string) error { return refuseField(codeBadParameter, field) }

// PathText is a part of the path, decoded.
func PathText(c *fiber.Ctx, name string) (string, error) { return pathText(c, name) }

// TimeField is a time that a form names, or a duration back from now; zero where it names none.
func TimeField(c *fiber.Ctx, name string) (time.Time, error) {
	text := strings.TrimSpace(c.FormValue(name))
	if text == "" {
		return time.Time{}, nil
	}
	at, err := parseTime(text)
	if err != nil {
		return at, refuseField(codeBadField, name)
	}
	return at, nil
}

// MissingField refuses a request that lacks a field.
func MissingField(field string) error { return refuseField(codeMissingField, field) }

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
