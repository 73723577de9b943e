package operator

import (
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
	// proofField and proofHeader carry the proof that a change was made on one of our pages.
	proofField  = "csrf"
	proofHeader = "X-Csrf-Token"
)

const gateKey = "gate"

// gateOf returns the gate that the guard has set for a page. An unparsable request has passed no guard and gets a gate that
// admits nothing.
func gateOf(c *fiber.Ctx) *gate {
	if g, ok := c.Locals(gateKey).(*gate); ok {
		return g
	}
	return &gate{tokens: access.Tokens{{}}}
}

// LogIn exchanges a token for a session. It fails like a request with a wrong token.
func LogIn(c *fiber.Ctx, token string) error {
	g := gateOf(c)
	who, ok := g.tokens.Find("Bearer " + token)
	if !ok {
		return g.refuseLogin(c)
	}
	return g.begin(c, who.Name)
}

// LogInByTicket exchanges a link's ticket for a session, once.
func LogInByTicket(c *fiber.Ctx, ticket string) error {
	g := gateOf(c)
	holder, ok := g.tickets.Take(ticket, time.Now())
	if !ok {
		return g.refuseLogin(c)
	}
	return g.begin(c, holder)
}

// LogOut ends the session, including copies of its cookie.
func LogOut(c *fiber.Ctx) error {
	g, who := gateOf(c), httpapi.Actor(c, "")
	if id, ok := access.SessionID(c.Cookies(sessionCookie)); ok && g.sessions != nil {
		ctx, cancel := httpapi.Within(c)
		defer cancel()
		g.recall.forget(id)
		if err := g.sessions.CloseSession(ctx, id, who); err != nil {
			return err
		}
		g.log.Info("operator.logged_out", "actor", who.Name, "role", who.Role, "address", c.Context().RemoteIP().String())
	}
	g.setSession(c, "", time.Unix(1, 0))
	return nil
}

// LoggedIn returns the caller of a page that anyone may see, if logged in.
func LoggedIn(c *fiber.Ctx) (access.Caller, bool) {
	g := gateOf(c)
	if len(g.tokens) == 0 {
		return localCaller, true
	}
	who, err := g.ofSession(c.UserContext(), c.Cookies(sessionCookie))
	return who, err == nil
}

// NeedsLogin reports whether there are tokens to log in with.
func NeedsLogin(c *fiber.Ctx) bool { return len(gateOf(c).tokens) > 0 }

// ProofOf returns the CSRF proof that a page's form sends as its field "csrf"; pages of other sites can't know it.
func ProofOf(c *fiber.Ctx) string {
	if g := gateOf(c); len(g.tokens) == 0 {
		return g.localProof
	}
	return access.ProofOf(c.Cookies(sessionCookie))
}

// begin stores a session for a token's holder and sets its cookie.
func (g *gate) begin(c *fiber.Ctx, holder string) error {
	until := time.Now().Add(sessionTime)
	secret, s, ok := g.tokens.Open(holder, until)
	if !ok || g.sessions == nil {
		return httpapi.Refuse(httpapi.CodeUnavailable)
	}
	who, _ := g.tokens.Holder(s, time.Now())
	ctx, cancel := httpapi.Within(c)
	defer cancel()
	by := oversight.Actor{Name: who.Name, Role: string(who.Role), RequestID: httpapi.RequestID(c)}
	if err := g.sessions.OpenSession(ctx, s, by); err != nil {
		return err
	}
	g.log.Info("operator.logged_in", "actor", who.Name, "role", who.Role, "address", c.Context().RemoteIP().String())
	g.setSession(c, secret, until)
	return nil
}

// refuseLogin also records the refused login, unless the address is locked out, which was recorded.
func (g *gate) refuseLogin(c *fiber.Ctx) error {
	address := c.Context().RemoteIP()
	if g.sessions != nil && g.lockout.Remaining(address) == 0 {
		g.log.Warn("operator.login_refused", "address", address.String())
		g.refused.add(address.String())
	}
	return g.refuseGuess(c, true)
}

// setSession sets the cookie for the whole port below the prefix, because a proxy may serve other sites on its other paths. It
// trusts any client's HTTPS header: forging it harms only the forger.
func (g *gate) setSession(c *fiber.Ctx, value string, until time.Time) {
	c.Cookie(&fiber.Cookie{
		Name: sessionCookie, Value: value, Path: g.prefix + "/", Expires: until, HTTPOnly: true,
		SameSite: fiber.CookieSameSiteStrictMode, Secure: IsHTTPS(c),
	})
}

// IsHTTPS reports whether the browser uses HTTPS with the proxy.
func IsHTTPS(c *fiber.Ctx) bool { return c.Get(fiber.HeaderXForwardedProto) == "https" }

// ofSession returns the holder of a cookie's session, or event.ErrNotFound if it is invalid. While the store doesn't answer,
// recently seen sessions are accepted, so that their holders can see what is down.
func (g *gate) ofSession(ctx context.Context, secret string) (who access.Caller, err error) {
	id, ok := access.SessionID(secret)
	if !ok || g.sessions == nil {
		return who, event.ErrNotFound
	}
	ctx, cancel := context.WithTimeout(ctx, sessionTimeout)
	defer cancel()
	s, err := g.sessions.Session(ctx, id)
	switch {
	case err == nil:
		g.recall.keep(s, time.Now())
	case errors.Is(err, event.ErrNotFound):
		g.recall.forget(id)
		return who, err
	default:
		if s, ok = g.recall.of(id, time.Now()); !ok {
			return who, err
		}
	}
	if who, ok = g.tokens.Holder(s, time.Now()); !ok {
		return who, event.ErrNotFound
	}
	return who, nil
}

// requireProof refuses a change that doesn't come from one of our pages.
func requireProof(c *fiber.Ctx) error {
	if c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead {
		return nil
	}
	shown := c.Get(proofHeader)
	if shown == "" {
		shown = string(c.Request().PostArgs().Peek(proofField))
	}
	if proof := ProofOf(c); proof == "" || !hmac.Equal([]byte(shown), []byte(proof)) {
		return httpapi.Refuse(httpapi.CodeStalePage)
	}
	return nil
}

// newLocalProof makes the proof for a caller without a session, valid until the process ends.
func newLocalProof() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return hex.EncodeToString(key)
}
