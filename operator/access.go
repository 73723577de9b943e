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

// anyone is the role that a route needs of those who show no token.
const anyone access.Role = "anyone"

// needs says who may call which route. A route that is not named here is refused for everybody, so that one that is
// added without a thought stays closed.
var needs = map[string]access.Role{
	// A probe and a scraper have no token. They tell nothing of an event.
	"GET /healthz":         anyone,
	"GET /readyz":          anyone,
	"GET /metrics":         anyone,
	"GET /metrics.json":    anyone,
	"GET /metrics/history": anyone,

	"GET /":             access.RoleViewer,
	"GET /openapi.json": access.RoleViewer,

	"GET /events":                                access.RoleViewer,
	"GET /events/:id":                            access.RoleViewer,
	"GET /dead-letters":                          access.RoleViewer,
	"GET /dead-letters/causes":                   access.RoleViewer,
	"GET /dead-letters/:id":                      access.RoleViewer,
	"GET /entities":                              access.RoleViewer,
	"GET /entities/:provider/:kind/:external_id": access.RoleViewer,
	"GET /entities/:provider/:kind/:external_id/timeline": access.RoleViewer,
	"GET /errors":                               access.RoleViewer,
	"GET /changes":                              access.RoleViewer,
	"GET /conflicts":                            access.RoleViewer,
	"GET /refusals":                             access.RoleViewer,
	"GET /stats":                                access.RoleViewer,
	"GET /redrives":                             access.RoleViewer,
	"GET /redrives/:id":                         access.RoleViewer,
	"POST /redrives/plan":                       access.RoleViewer,
	"GET /rebuilds":                             access.RoleViewer,
	"GET /rebuilds/:id":                         access.RoleViewer,
	"GET /audit":                                access.RoleOperator,
	"GET /rebuilds/:id/diff":                    access.RoleOperator, // it shows states of entities as they are
	"POST /rebuilds":                            access.RoleOperator,
	"POST /rebuilds/:id/pause":                  access.RoleOperator,
	"POST /rebuilds/:id/resume":                 access.RoleOperator,
	"POST /rebuilds/:id/cancel":                 access.RoleOperator,
	"GET /imports":                              access.RoleViewer,
	"GET /imports/:id":                          access.RoleViewer,
	"POST /imports/:id/pause":                   access.RoleOperator,
	"POST /imports/:id/resume":                  access.RoleOperator,
	"POST /imports/:id/cancel":                  access.RoleOperator,
	"POST /codec/encode":                        access.RoleOperator,
	"POST /codec/decode":                        access.RoleOperator,
	"POST /dead-letters/:id/replay":             access.RoleOperator,
	"POST /dead-letters/:id/edit":               access.RoleOperator,
	"POST /dead-letters/:id/discard":            access.RoleOperator,
	"POST /dead-letters/:id/reopen":             access.RoleOperator,
	"POST /redrives":                            access.RoleOperator,
	"POST /redrives/:id/pause":                  access.RoleOperator,
	"POST /redrives/:id/resume":                 access.RoleOperator,
	"POST /redrives/:id/cancel":                 access.RoleOperator,
	"GET /events/:id/attempts":                  access.RoleViewer,
	"GET /deliveries":                           access.RoleViewer,
	"POST /deliveries/cancel":                   access.RoleOperator,
	"GET /deliveries/:id/:subscription":         access.RoleViewer,
	"POST /deliveries/:id/:subscription/send":   access.RoleOperator,
	"POST /deliveries/:id/:subscription/cancel": access.RoleOperator,
	"GET /resends":                              access.RoleViewer,
	"GET /resends/:id":                          access.RoleViewer,
	"POST /resends/plan":                        access.RoleViewer,
	"POST /resends":                             access.RoleOperator,
	"POST /resends/:id/pause":                   access.RoleOperator,
	"POST /resends/:id/resume":                  access.RoleOperator,
	"POST /resends/:id/cancel":                  access.RoleOperator,
	"GET /destinations":                         access.RoleViewer,
	"GET /destinations/:name":                   access.RoleViewer,
	"POST /destinations":                        access.RoleIntegrator,
	"PUT /destinations/:name":                   access.RoleIntegrator,
	"PATCH /destinations/:name":                 access.RoleIntegrator,
	"DELETE /destinations/:name":                access.RoleIntegrator,
	"POST /destinations/:name/rotate-secret":    access.RoleIntegrator,
	"POST /destinations/:name/pause":            access.RoleOperator,
	"POST /destinations/:name/resume":           access.RoleOperator,
	"POST /destinations/:name/disable":          access.RoleOperator,
	"GET /subscriptions":                        access.RoleViewer,
	"GET /subscriptions/:name":                  access.RoleViewer,
	"POST /subscriptions":                       access.RoleIntegrator,
	"PUT /subscriptions/:name":                  access.RoleIntegrator,
	"PATCH /subscriptions/:name":                access.RoleIntegrator,
	"DELETE /subscriptions/:name":               access.RoleIntegrator,
	"POST /subscriptions/:name/rotate-secret":   access.RoleIntegrator,
	"POST /subscriptions/:name/pause":           access.RoleOperator,
	"POST /subscriptions/:name/resume":          access.RoleOperator,
	"POST /subscriptions/:name/disable":         access.RoleOperator,
	"POST /subscriptions/:name/test":            access.RoleOperator,
	"GET /subscriptions/:name/check":            access.RoleOperator,
	"POST /subscriptions/:name/check":           access.RoleOperator,
	"DELETE /dead-letters/:id":                  access.RoleAdmin,
	"POST /dead-letters/cleanup":                access.RoleAdmin,
}

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

// guard stands before the handler of one route.
func (g *gate) guard(method, path string) fiber.Handler {
	needed, ok := needs[method+" "+path]
	return func(c *fiber.Ctx) error {
		switch {
		case !ok:
			return exchange.Refuse(exchange.CodeForbidden)
		case needed == anyone:
			return c.Next()
		}
		if err := refuseForeignPage(c, len(g.tokens) == 0, g.guests(c)); err != nil {
			return err
		}
		return g.admit(c, needed)
	}
}

// guardPage stands before one page of the site. A link on another site may lead to it, for that changes nothing; whatever changes
// something shows that it comes from a page of ours, also where there is no token.
func (g *gate) guardPage(needed access.Role) fiber.Handler {
	return func(c *fiber.Ctx) error {
		c.Locals(gateKey, g)
		if needed == "" {
			return exchange.Refuse(exchange.CodeForbidden)
		}
		if err := refuseForeignPage(c, len(g.tokens) == 0, nil); err != nil && !isFollowedLink(c, len(g.tokens) == 0) {
			return err
		}
		if needed == anyone {
			return c.Next()
		}
		if len(g.tokens) == 0 {
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
	c.Locals(gateKey, g)
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

// limitBody lets large bodies in only where an event is edited, tried or checked, or a payload decrypted, and only from those who may do
// that: it is asked before the body is read.
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
