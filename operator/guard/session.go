package guard

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/operator/access"
	"holdfast/operator/httpapi"
)

// SessionStore stores login sessions. Each change writes one audit entry in its transaction.
type SessionStore interface {
	OpenSession(ctx context.Context, s oversight.Session, by oversight.Actor) error
	// Session returns an unexpired session, or event.ErrNotFound.
	Session(ctx context.Context, id []byte) (oversight.Session, error)
	// CloseSession deletes a session if it exists.
	CloseSession(ctx context.Context, id []byte, by oversight.Actor) error
	// Audit writes a separate audit entry.
	Audit(ctx context.Context, e oversight.AuditEntry) error
}

const (
	sessionCookie = "holdfast_session"
	// sessionTime is how long a login lasts.
	sessionTime = 12 * time.Hour
	// sessionTimeout bounds a session lookup.
	sessionTimeout = 2 * time.Second
	// csrfField and csrfHeader carry the proof that a change was made on one of our pages.
	csrfField  = "csrf"
	csrfHeader = "X-Csrf-Token"
)

const guardKey = "guard"

// guardOf returns the guard that the guard has set for a page. An unparsable request has passed no guard and gets one
// that admits nothing.
func guardOf(c *fiber.Ctx) *Guard {
	if g, ok := c.Locals(guardKey).(*Guard); ok {
		return g
	}
	return &Guard{tokens: access.Tokens{{}}}
}

// LogIn exchanges a token for a session. It fails like a request with a wrong token.
func LogIn(c *fiber.Ctx, token string) error {
	g := guardOf(c)
	who, ok := g.tokens.Find("Bearer " + token)
	if !ok {
		return g.refuseLogin(c)
	}
	return g.startSession(c, who.Name)
}

// LogInByLink exchanges a link's ticket for a session, once.
func LogInByLink(c *fiber.Ctx, ticket string) error {
	g := guardOf(c)
	holder, ok := g.loginLinks.Take(ticket, time.Now())
	if !ok {
		return g.refuseLogin(c)
	}
	return g.startSession(c, holder)
}

// LogOut ends the session, including copies of its cookie.
func LogOut(c *fiber.Ctx) error {
	g, who := guardOf(c), httpapi.Actor(c, "")
	if id, ok := access.SessionID(c.Cookies(sessionCookie)); ok && g.sessions != nil {
		g.sessionCache.forget(id)
		if err := g.sessions.CloseSession(httpapi.RequestContext(c), id, who); err != nil {
			return err
		}
		g.log.Info("operator.logged_out", "actor", who.Name, "role", who.Role, "address", c.Context().RemoteIP().String())
	}
	g.setSession(c, "", time.Unix(1, 0))
	return nil
}

// LoggedIn returns the caller of a page that anyone may see, if logged in.
func LoggedIn(c *fiber.Ctx) (access.Caller, bool) {
	g := guardOf(c)
	if len(g.tokens) == 0 {
		return localCaller, true
	}
	who, err := g.callerOfSession(c.UserContext(), c.Cookies(sessionCookie))
	return who, err == nil
}

// NeedsLogin reports whether there are tokens to log in with.
func NeedsLogin(c *fiber.Ctx) bool { return len(guardOf(c).tokens) > 0 }

// HasToken reports whether the request shows a valid token, or needs none. A request with only a session shows none.
func HasToken(c *fiber.Ctx) bool {
	_, ok := guardOf(c).tokens.Find(authorizationOf(c))
	return ok || !NeedsLogin(c)
}

// CSRFToken returns the token that a page's form sends as its field "csrf"; pages of other sites can't know it.
func CSRFToken(c *fiber.Ctx) string {
	if g := guardOf(c); len(g.tokens) == 0 {
		return g.localCSRFToken
	}
	return access.CSRFToken(c.Cookies(sessionCookie))
}

// startSession stores a session for a token's holder and sets its cookie.
func (g *Guard) startSession(c *fiber.Ctx, holder string) error {
	until := time.Now().Add(sessionTime)
	secret, s, ok := g.tokens.Open(holder, until)
	if !ok || g.sessions == nil {
		return httpapi.Refuse(httpapi.CodeUnavailable)
	}
	who, _ := g.tokens.Holder(s, time.Now())
	by := oversight.Actor{Name: who.Name, Role: string(who.Role), RequestID: httpapi.RequestID(c)}
	if err := g.sessions.OpenSession(httpapi.RequestContext(c), s, by); err != nil {
		return err
	}
	g.log.Info("operator.logged_in", "actor", who.Name, "role", who.Role, "address", c.Context().RemoteIP().String())
	g.setSession(c, secret, until)
	return nil
}

// refuseLogin also records the refused login, unless the address is locked out, which was recorded.
func (g *Guard) refuseLogin(c *fiber.Ctx) error {
	address := c.Context().RemoteIP()
	if g.sessions != nil && g.lockout.Remaining(address) == 0 {
		g.log.Warn("operator.login_refused", "address", address.String())
		g.refused.add(address.String())
	}
	return g.refuseCredentials(c, true)
}

// setSession sets the cookie for the whole port below the prefix, because a proxy may serve other sites on its other paths. It
// trusts any client's HTTPS header: forging it harms only the forger.
func (g *Guard) setSession(c *fiber.Ctx, value string, until time.Time) {
	c.Cookie(&fiber.Cookie{
		Name: sessionCookie, Value: value, Path: g.prefix + "/", Expires: until, HTTPOnly: true,
		SameSite: fiber.CookieSameSiteStrictMode, Secure: IsHTTPS(c),
	})
}

// IsHTTPS reports whether the browser uses HTTPS with the proxy.
func IsHTTPS(c *fiber.Ctx) bool { return c.Get(fiber.HeaderXForwardedProto) == "https" }

// callerOfSession returns the holder of a cookie's session, or event.ErrNotFound if it is invalid. While the store doesn't
// answer, recently seen sessions are accepted, so that their holders can see what is down.
func (g *Guard) callerOfSession(ctx context.Context, secret string) (who access.Caller, err error) {
	id, ok := access.SessionID(secret)
	if !ok || g.sessions == nil {
		return who, event.ErrNotFound
	}
	ctx, cancel := context.WithTimeout(ctx, sessionTimeout)
	defer cancel()
	s, err := g.sessions.Session(ctx, id)
	switch {
	case err == nil:
		g.sessionCache.keep(s, time.Now())
	case errors.Is(err, event.ErrNotFound):
		g.sessionCache.forget(id)
		return who, err
	default:
		if s, ok = g.sessionCache.of(id, time.Now()); !ok {
			return who, err
		}
	}
	if who, ok = g.tokens.Holder(s, time.Now()); !ok {
		return who, event.ErrNotFound
	}
	return who, nil
}

// requireCSRFToken refuses a change that doesn't come from one of our pages.
func requireCSRFToken(c *fiber.Ctx) error {
	if c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead {
		return nil
	}
	shown := cmp.Or(c.Get(csrfHeader), string(c.Request().PostArgs().Peek(csrfField)))
	if form, err := c.MultipartForm(); shown == "" && err == nil && len(form.Value[csrfField]) > 0 { // a form with a file
		shown = form.Value[csrfField][0]
	}
	if proof := CSRFToken(c); proof == "" || !hmac.Equal([]byte(shown), []byte(proof)) {
		return httpapi.Refuse(httpapi.CodeStalePage)
	}
	return nil
}

// newLocalCSRFToken makes the proof for a caller without a session, valid until the process ends.
func newLocalCSRFToken() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return hex.EncodeToString(key)
}
