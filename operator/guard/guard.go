package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"holdfast/event"
	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/httpapi"
)

// localCaller is the caller of every request to a server without tokens, which listens on localhost only.
var localCaller = access.Caller{Name: "local", Role: access.RoleAdmin}

// Guard admits a request if its caller's role may use the route.
type Guard struct {
	tokens       access.Tokens
	web          []string // origins of Temporal Web
	readers      []string // origins whose pages may read the change feed
	prefix       string   // path under which a proxy serves the operator side
	lockout      *access.Lockout
	sessions     SessionStore // nil disables logins
	sessionCache sessionCache
	loginLinks   *access.LoginLinks
	refused      *refusedLogins
	log          *slog.Logger
	// localCSRFToken is the token of the local caller, who has no session.
	localCSRFToken string
	bodyLimit      int
}

// Options configure a guard. They mean the same as in the operator server's options.
type Options struct {
	Tokens                      access.Tokens
	Sessions                    SessionStore
	LoginLinks                  *access.LoginLinks
	TemporalWeb, ChangesOrigins []string
	Prefix                      string
	Log                         *slog.Logger
	// BodyLimit bounds bodies, in bytes, except for bodies of events and payloads.
	BodyLimit int
}

// New returns a guard.
func New(o Options) *Guard {
	return &Guard{
		tokens: o.Tokens, web: o.TemporalWeb, readers: o.ChangesOrigins, prefix: o.Prefix, lockout: access.NewLockout(), log: o.Log,
		sessions: o.Sessions, loginLinks: cmp.Or(o.LoginLinks, &access.LoginLinks{}), refused: newRefusedLogins(o.Sessions),
		localCSRFToken: newLocalCSRFToken(), bodyLimit: o.BodyLimit,
	}
}

// Require runs before the handler of a route, either a page of the console or a route of the API. A link on another site may lead
// to a page, because reading changes nothing. A request that changes something must prove that it comes from one of our pages,
// even on a server without tokens.
func (g *Guard) Require(needed access.Role, isPage bool) fiber.Handler {
	withoutTokens := len(g.tokens) == 0
	return func(c *fiber.Ctx) error {
		c.Locals(guardKey, g)
		if isPage {
			httpapi.AcceptForm(c)
		}
		switch {
		case needed == "":
			return httpapi.Refuse(httpapi.CodeForbidden)
		case needed == access.Anyone && !isPage:
			return c.Next()
		}
		err := refuseForeignPage(c, withoutTokens, g.allowedOrigins(c))
		if err != nil && (!isPage || !isFollowedLink(c, withoutTokens)) {
			return err
		}
		if needed == access.Anyone {
			return c.Next()
		}
		if isPage && withoutTokens {
			if err := requireCSRFToken(c); err != nil {
				return err
			}
		}
		return g.admit(c, needed)
	}
}

// admit admits the request if its caller's role includes the required one.
func (g *Guard) admit(c *fiber.Ctx, needed access.Role) error {
	who, err := g.identify(c)
	if err != nil {
		return err
	}
	httpapi.SetCaller(c, who)
	if !who.Role.Includes(needed) {
		return &httpapi.RefusalError{
			Code: httpapi.CodeForbidden, Detail: fmt.Sprintf("your role isn't sufficient: it is %s, and this needs %s", who.Role, needed),
		}
	}
	return c.Next()
}

// identify identifies the caller by a bearer token or else by a session. A browser sends the session cookie automatically, so
// each change made with a session must prove that it comes from one of our pages.
func (g *Guard) identify(c *fiber.Ctx) (access.Caller, error) {
	if len(g.tokens) == 0 {
		return localCaller, nil
	}
	header := authorizationOf(c)
	if who, ok := g.tokens.Find(header); ok {
		return who, nil
	}
	if header != "" && !isBasicAuth(header) {
		return access.Caller{}, g.refuseCredentials(c, true)
	}
	if g.isCrossOrigin(c) {
		return access.Caller{}, g.refuseCredentials(c, false)
	}
	who, err := g.callerOfSession(c.UserContext(), c.Cookies(sessionCookie))
	switch {
	case errors.Is(err, event.ErrNotFound):
		return who, g.refuseCredentials(c, false)
	case err != nil:
		return who, err
	}
	return who, requireCSRFToken(c)
}

// isBasicAuth reports whether a header carries a password, which a browser sends with every request and a proxy may pass on.
func isBasicAuth(header string) bool {
	scheme, _, _ := strings.Cut(header, " ")
	return strings.EqualFold(scheme, "Basic")
}

// refuseCredentials refuses a caller without valid credentials. A valid token is accepted from any address: an attacker behind a
// shared address must not lock the operators out. A locked-out address learns nothing about a wrong token but the lockout.
func (g *Guard) refuseCredentials(c *fiber.Ctx, hasGuessed bool) error {
	address := c.Context().RemoteIP()
	if wait := g.lockout.Remaining(address); wait > 0 {
		httpapi.SetRetryAfter(c, wait)
		return httpapi.Refuse(httpapi.CodeLockedOut)
	}
	if hasGuessed && g.lockout.Fail(address) {
		g.log.Warn("operator.locked_out", "address", address.String())
	}
	c.Set(fiber.HeaderWWWAuthenticate, "Bearer")
	return httpapi.Refuse(httpapi.CodeUnauthenticated)
}

// maxEventRequest fits a body that is tried or checked, with every character escaped, and the largest Temporal payload, encrypted
// and in base64.
const maxEventRequest = 8 << 20

// maxEditRequest fits the largest event body in base64, as a file, or as text with few escapes. editTimeout is how long it may
// take to arrive.
const (
	maxEditRequest = event.MaxBody/3*4 + 1<<20
	editTimeout    = time.Minute
)

// LimitBody allows large bodies only where an event is edited, tried or checked, also by an agent, a file applied, imported or
// compared, or a payload decrypted, and only for callers who may use them. The server calls it before it reads the body.
func (g *Guard) LimitBody(header *fasthttp.RequestHeader) fasthttp.RequestConfig {
	usual := fasthttp.RequestConfig{MaxRequestBodySize: g.bodyLimit}
	path, _, _ := strings.Cut(string(header.RequestURI()), "?")
	needed, large := largeBody(path)
	if needed == "" {
		return usual
	}
	who, ok := g.tokens.Find(string(header.Peek(fiber.HeaderAuthorization)))
	if !ok {
		var err error
		who, err = g.callerOfSession(context.Background(), string(header.Cookie(sessionCookie)))
		ok = err == nil
	}
	if ok && who.Role.Includes(needed) || len(g.tokens) == 0 {
		return large
	}
	return usual
}

// largeBody returns the role that may send a large body to a path, and its limits; "" if none may. A proxy may have put a
// prefix in front.
func largeBody(path string) (needed access.Role, limits fasthttp.RequestConfig) {
	last := path[strings.LastIndexByte(path, '/')+1:]
	isBelow := func(parent string) bool { return strings.Contains(path, parent+"/") }
	switch {
	case isBelow("/imports") && (last == "plan" || last == "lines"):
		return access.RoleAdmin, fasthttp.RequestConfig{MaxRequestBodySize: api.MaxPart, ReadTimeout: editTimeout}
	case strings.HasSuffix(path, "/compare"):
		return access.RoleOperator, fasthttp.RequestConfig{MaxRequestBodySize: api.MaxPart, ReadTimeout: editTimeout}
	case (isBelow("/dead-letters") || isBelow("/console/events")) && last == "edit":
		return access.RoleOperator, fasthttp.RequestConfig{MaxRequestBodySize: maxEditRequest, ReadTimeout: editTimeout}
	case last == "edit" && !isBelow("/destinations"), last == "try", last == "check", last == "apply", last == "mcp",
		strings.HasPrefix(path, payloadsPath):
		return access.RoleOperator, fasthttp.RequestConfig{MaxRequestBodySize: maxEventRequest}
	}
	return "", limits
}
