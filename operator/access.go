package operator

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"holdfast/event"
	"holdfast/operator/access"
	"holdfast/operator/exchange"
)

// localCaller makes the requests of a server without tokens, which is reached from its own machine only.
var localCaller = access.Caller{Name: "local", Role: access.RoleAdmin}

// gate lets requests through to the routes that their callers may use.
type gate struct {
	tokens   access.Tokens
	web      []string // origins of Temporal Web
	readers  []string // origins whose pages may read the change feed
	prefix   string   // under which a proxy shows us
	lockout  *access.Lockout
	sessions SessionStore // nil: nobody logs in
	recall   recall
	tickets  *access.Tickets
	refused  *refusedLogins
	log      *slog.Logger
	// localProof is that of the local caller, who has no session.
	localProof string
}

func newGate(o Options, log *slog.Logger) *gate {
	return &gate{
		tokens: o.Tokens, web: o.TemporalWeb, readers: o.ChangesOrigins, prefix: o.Prefix, lockout: access.NewLockout(), log: log,
		sessions: o.Sessions, tickets: cmp.Or(o.Tickets, &access.Tickets{}), refused: newRefusedLogins(o.Sessions),
		localProof: newLocalProof(),
	}
}

// guard stands before the handler of a route, which is a page of the site or is of the API. A link on another site may lead to a
// page, for that changes nothing; whatever changes something shows that it comes from a page of ours, also where there is no
// token.
func (g *gate) guard(needed access.Role, isPage bool) fiber.Handler {
	withoutTokens := len(g.tokens) == 0
	return func(c *fiber.Ctx) error {
		c.Locals(gateKey, g)
		switch {
		case needed == "":
			return exchange.Refuse(exchange.CodeForbidden)
		case needed == access.Anyone && !isPage:
			return c.Next()
		}
		if err := refuseForeignPage(c, withoutTokens, g.guests(c)); err != nil && (!isPage || !isFollowedLink(c, withoutTokens)) {
			return err
		}
		if needed == access.Anyone {
			return c.Next()
		}
		if isPage && withoutTokens {
			if err := requireProof(c); err != nil {
				return err
			}
		}
		return g.admit(c, needed)
	}
}

// admit lets the request through if its caller's role includes the one that is needed.
func (g *gate) admit(c *fiber.Ctx, needed access.Role) error {
	who, err := g.identify(c)
	if err != nil {
		return err
	}
	exchange.SetCaller(c, who)
	if !who.Role.Includes(needed) {
		return exchange.Refuse(exchange.CodeForbidden)
	}
	return c.Next()
}

// identify finds out who calls, by a token or else by a session, whose browser sends it by itself: so that one must show for each
// change that it comes from a page of ours.
func (g *gate) identify(c *fiber.Ctx) (access.Caller, error) {
	if len(g.tokens) == 0 {
		return localCaller, nil
	}
	header := shownToken(c)
	if who, ok := g.tokens.Find(header); ok {
		return who, nil
	}
	if header != "" && !isForProxy(header) {
		return access.Caller{}, g.refuseGuess(c, true)
	}
	if g.isGuest(c) {
		return access.Caller{}, g.refuseGuess(c, false)
	}
	who, err := g.ofSession(c.UserContext(), c.Cookies(sessionCookie))
	switch {
	case errors.Is(err, event.ErrNotFound):
		return who, g.refuseGuess(c, false)
	case err != nil:
		return who, err
	}
	return who, requireProof(c)
}

// isForProxy says whether a header shows a password, which a proxy in front may want and pass on: a browser sends it with
// everything.
func isForProxy(header string) bool {
	scheme, _, _ := strings.Cut(header, " ")
	return strings.EqualFold(scheme, "Basic")
}

// refuseGuess refuses who has shown nothing that is right. A token that is right passes from everywhere: who guesses behind an
// address that many share must not keep the operators out. A wrong one is told no more from an address that has shown many.
func (g *gate) refuseGuess(c *fiber.Ctx, hasGuessed bool) error {
	address := c.Context().RemoteIP()
	if wait := g.lockout.Remaining(address); wait > 0 {
		setRetryAfter(c, wait)
		return exchange.Refuse(exchange.CodeLockedOut)
	}
	if hasGuessed && g.lockout.Fail(address) {
		g.log.Warn("operator.locked_out", "address", address.String())
	}
	c.Set(fiber.HeaderWWWAuthenticate, "Bearer")
	return exchange.Refuse(exchange.CodeUnauthenticated)
}

// maxEventRequest is room for the largest body of an event in base64, or as text with every character escaped; or for the
// largest one that Temporal has, encrypted and in base64.
const maxEventRequest = 8 << 20

// limitBody lets large bodies in only where an event is edited, tried or checked, or a payload decrypted, and only from those who
// may do that: it is asked before the body is read.
func (g *gate) limitBody(header *fasthttp.RequestHeader) fasthttp.RequestConfig {
	config := fasthttp.RequestConfig{MaxRequestBodySize: bodyLimit}
	uri := header.RequestURI()
	isDestination := bytes.Contains(uri, []byte("/receivers/"))
	isLarge := bytes.HasSuffix(uri, []byte("/edit")) && !isDestination || bytes.HasSuffix(uri, []byte("/try")) ||
		bytes.HasSuffix(uri, []byte("/check"))
	if !isLarge && !bytes.HasPrefix(uri, []byte(payloadsPath)) {
		return config
	}
	who, ok := g.tokens.Find(string(header.Peek(fiber.HeaderAuthorization)))
	if !ok {
		var err error
		who, err = g.ofSession(context.Background(), string(header.Cookie(sessionCookie)))
		ok = err == nil
	}
	if ok && who.Role.Includes(access.RoleOperator) || len(g.tokens) == 0 {
		config.MaxRequestBodySize = maxEventRequest
	}
	return config
}
