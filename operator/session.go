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
	"holdfast/operator/exchange"
)

// SessionStore keeps who has logged in. Each change writes one audit entry in its transaction.
type SessionStore interface {
	OpenSession(ctx context.Context, s oversight.Session, by oversight.Actor) error
	// Session is one that has not expired, or event.ErrNotFound.
	Session(ctx context.Context, id []byte) (oversight.Session, error)
	// CloseSession removes one; there may be none.
	CloseSession(ctx context.Context, id []byte, by oversight.Actor) error
	// Audit writes an entry of its own.
	Audit(ctx context.Context, e oversight.AuditEntry) error
}

const (
	sessionCookie = "holdfast_session"
	// sessionTime is how long somebody stays logged in.
	sessionTime = 12 * time.Hour
	// sessionTimeout bounds a look at a session.
	sessionTimeout = 2 * time.Second
	// proofField and proofHeader bring what shows that a change was made on a page of ours.
	proofField  = "csrf"
	proofHeader = "X-Csrf-Token"
)

const gateKey = "gate"

// gateOf is the gate that a page stands behind; the guard has put it there. A request that could not be read has met none, and
// gets one that is closed.
func gateOf(c *fiber.Ctx) *gate {
	if g, ok := c.Locals(gateKey).(*gate); ok {
		return g
	}
	return &gate{tokens: access.Tokens{{}}}
}

// LogIn exchanges a token for a session. It is refused like a request with a wrong token.
func LogIn(c *fiber.Ctx, token string) error {
	g := gateOf(c)
	who, ok := g.tokens.Find("Bearer " + token)
	if !ok {
		return g.refuseLogin(c)
	}
	return g.begin(c, who.Name)
}

// LogInByTicket exchanges the ticket of a link for a session, once.
func LogInByTicket(c *fiber.Ctx, ticket string) error {
	g := gateOf(c)
	holder, ok := g.tickets.Take(ticket, time.Now())
	if !ok {
		return g.refuseLogin(c)
	}
	return g.begin(c, holder)
}

// LogOut ends the session, wherever its cookie is.
func LogOut(c *fiber.Ctx) error {
	g, who := gateOf(c), exchange.Actor(c, "")
	if id, ok := access.SessionID(c.Cookies(sessionCookie)); ok && g.sessions != nil {
		ctx, cancel := exchange.Within(c)
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

// LoggedIn is who sees a page that anyone may see, if it is known.
func LoggedIn(c *fiber.Ctx) (access.Caller, bool) {
	g := gateOf(c)
	if len(g.tokens) == 0 {
		return localCaller, true
	}
	who, err := g.ofSession(c.UserContext(), c.Cookies(sessionCookie))
	return who, err == nil
}

// NeedsLogin says whether there are tokens to log in with.
func NeedsLogin(c *fiber.Ctx) bool { return len(gateOf(c).tokens) > 0 }

// ProofOf is what a form of a page must send along as its field "csrf", so that pages of other sites cannot send it.
func ProofOf(c *fiber.Ctx) string {
	if g := gateOf(c); len(g.tokens) == 0 {
		return g.localProof
	}
	return access.ProofOf(c.Cookies(sessionCookie))
}

// begin keeps a session of the holder of a token, and gives the browser its secret.
func (g *gate) begin(c *fiber.Ctx, holder string) error {
	until := time.Now().Add(sessionTime)
	secret, s, ok := g.tokens.Open(holder, until)
	if !ok || g.sessions == nil {
		return exchange.Refuse(exchange.CodeUnavailable)
	}
	who, _ := g.tokens.Holder(s, time.Now())
	ctx, cancel := exchange.Within(c)
	defer cancel()
	by := oversight.Actor{Name: who.Name, Role: string(who.Role), RequestID: exchange.RequestID(c)}
	if err := g.sessions.OpenSession(ctx, s, by); err != nil {
		return err
	}
	g.log.Info("operator.logged_in", "actor", who.Name, "role", who.Role, "address", c.Context().RemoteIP().String())
	g.setSession(c, secret, until)
	return nil
}

// refuseLogin also tells of it. An address that is locked out has been told of.
func (g *gate) refuseLogin(c *fiber.Ctx) error {
	address := c.Context().RemoteIP()
	if g.sessions != nil && g.lockout.Remaining(address) == 0 {
		g.log.Warn("operator.login_refused", "address", address.String())
		g.refused.add(address.String())
	}
	return g.refuseGuess(c, true)
}

// setSession sets the cookie for the whole port, below the prefix: the proxy in front may have other things on its other paths.
// The header that says HTTPS is believed from everybody, for who forges it harms only himself.
func (g *gate) setSession(c *fiber.Ctx, value string, until time.Time) {
	c.Cookie(&fiber.Cookie{
		Name: sessionCookie, Value: value, Path: g.prefix + "/", Expires: until, HTTPOnly: true,
		SameSite: fiber.CookieSameSiteStrictMode, Secure: IsHTTPS(c),
	})
}

// IsHTTPS says whether the browser speaks HTTPS with the proxy in front.
func IsHTTPS(c *fiber.Ctx) bool { return c.Get(fiber.HeaderXForwardedProto) == "https" }

// ofSession is who the secret of a cookie says; the error is event.ErrNotFound where it is no good. While the store does not
// answer, who was seen not long ago is believed: what is down is what they come to see.
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

// requireProof refuses a change that does not come from a page of ours.
func requireProof(c *fiber.Ctx) error {
	if c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead {
		return nil
	}
	shown := c.Get(proofHeader)
	if shown == "" {
		shown = string(c.Request().PostArgs().Peek(proofField))
	}
	if proof := ProofOf(c); proof == "" || !hmac.Equal([]byte(shown), []byte(proof)) {
		return exchange.Refuse(exchange.CodeStalePage)
	}
	return nil
}

// newLocalProof is for the process whose caller has no session: it holds until that ends.
func newLocalProof() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return hex.EncodeToString(key)
}
