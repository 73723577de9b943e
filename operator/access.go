package operator

import (
	"bytes"
	"log/slog"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"holdfast/event"
)

// anyone is the role that a route needs of those who show no token.
const anyone Role = "anyone"

// access says who may call which route. A route that is not named here is refused for everybody, so that one that is
// added without a thought stays closed.
var access = map[string]Role{
	// A probe and a scraper have no token. They tell nothing of an event.
	"GET /healthz":         anyone,
	"GET /readyz":          anyone,
	"GET /metrics":         anyone,
	"GET /metrics.json":    anyone,
	"GET /metrics/history": anyone,

	"GET /":             RoleViewer,
	"GET /openapi.json": RoleViewer,

	"GET /events":                                RoleViewer,
	"GET /events/:id":                            RoleViewer,
	"GET /dead-letters":                          RoleViewer,
	"GET /dead-letters/:id":                      RoleViewer,
	"GET /entities/:provider/:kind/:external_id": RoleViewer,
	"GET /entities/:provider/:kind/:external_id/timeline": RoleViewer,
	"GET /errors":                    RoleViewer,
	"GET /conflicts":                 RoleViewer,
	"GET /stats":                     RoleViewer,
	"GET /redrives":                  RoleViewer,
	"GET /redrives/:id":              RoleViewer,
	"POST /redrives/plan":            RoleViewer,
	"GET /rebuilds":                  RoleViewer,
	"GET /rebuilds/:id":              RoleViewer,
	"GET /audit":                     RoleOperator,
	"GET /rebuilds/:id/diff":         RoleOperator, // it shows states of entities as they are
	"POST /rebuilds":                 RoleOperator,
	"POST /rebuilds/:id/pause":       RoleOperator,
	"POST /rebuilds/:id/resume":      RoleOperator,
	"POST /rebuilds/:id/cancel":      RoleOperator,
	"POST /codec/encode":             RoleOperator,
	"POST /codec/decode":             RoleOperator,
	"POST /dead-letters/:id/replay":  RoleOperator,
	"POST /dead-letters/:id/edit":    RoleOperator,
	"POST /dead-letters/:id/discard": RoleOperator,
	"POST /dead-letters/:id/reopen":  RoleOperator,
	"POST /redrives":                 RoleOperator,
	"POST /redrives/:id/pause":       RoleOperator,
	"POST /redrives/:id/resume":      RoleOperator,
	"POST /redrives/:id/cancel":      RoleOperator,
	"DELETE /dead-letters/:id":       RoleAdmin,
	"POST /dead-letters/cleanup":     RoleAdmin,
}

// caller is who makes a request.
type caller struct {
	name string
	role Role
}

// localCaller makes the requests of a server without tokens, which is reached from its own machine only.
var localCaller = caller{name: "local", role: RoleAdmin}

// gate lets requests through to the routes that their callers may use.
type gate struct {
	tokens  Tokens
	web     []string // origins of Temporal Web
	lockout *lockout
	log     *slog.Logger
}

func newGate(o Options, log *slog.Logger) *gate {
	return &gate{tokens: o.Tokens, web: o.TemporalWeb, lockout: newLockout(), log: log}
}

// guard stands before the handler of one route.
func (g *gate) guard(method, path string) fiber.Handler {
	needed, ok := access[method+" "+path]
	return func(c *fiber.Ctx) error {
		switch {
		case !ok:
			return refuse(codeForbidden)
		case needed == anyone:
			return c.Next()
		}
		who, err := g.identify(c)
		if err != nil {
			return err
		}
		if !who.role.includes(needed) {
			return refuse(codeForbidden)
		}
		c.Locals(callerKey, who)
		return c.Next()
	}
}

// identify finds out who calls. A token that is right passes from everywhere: who guesses behind an address that many share must
// not keep the operators out. A wrong one is told no more from an address that has shown many.
func (g *gate) identify(c *fiber.Ctx) (caller, error) {
	if err := refuseForeignPage(c, len(g.tokens) == 0, g.guests(c)); err != nil {
		return caller{}, err
	}
	if len(g.tokens) == 0 {
		return localCaller, nil
	}
	header := c.Get(fiber.HeaderAuthorization)
	if who, ok := g.tokens.find(header); ok {
		return who, nil
	}
	address := c.Context().RemoteIP()
	if wait := g.lockout.remaining(address); wait > 0 {
		setRetryAfter(c, wait)
		return caller{}, refuse(codeLockedOut)
	}
	if header != "" && g.lockout.fail(address) {
		g.log.Warn("operator.locked_out", "address", address.String())
	}
	c.Set(fiber.HeaderWWWAuthenticate, "Bearer")
	return caller{}, refuse(codeUnauthenticated)
}

// guests are the origins of the pages that may call beside our own.
func (g *gate) guests(c *fiber.Ctx) []string {
	if strings.HasPrefix(c.Path(), payloadsPath) {
		return g.web
	}
	return nil
}

const callerKey = "caller"

// callerOf is who makes this request; the guard has put it there.
func callerOf(c *fiber.Ctx) caller {
	who, _ := c.Locals(callerKey).(caller)
	return who
}

// actor is who changes something by this request.
func actor(c *fiber.Ctx, reason string) event.Actor {
	who := callerOf(c)
	return event.Actor{Name: who.name, Role: string(who.role), RequestID: requestID(c), Reason: reason}
}

// maxEventRequest is room for the largest body of an event in base64, or as text with every character escaped; or for the
// largest one that Temporal has, encrypted and in base64.
const maxEventRequest = 8 << 20

// limitBody lets large bodies in only where an event is edited or a payload decrypted, and only from those who may do that: it
// is asked before the body is read.
func (g *gate) limitBody(header *fasthttp.RequestHeader) fasthttp.RequestConfig {
	config := fasthttp.RequestConfig{MaxRequestBodySize: bodyLimit}
	if uri := header.RequestURI(); !bytes.HasSuffix(uri, []byte("/edit")) && !bytes.HasPrefix(uri, []byte(payloadsPath)) {
		return config
	}
	who, ok := g.tokens.find(string(header.Peek(fiber.HeaderAuthorization)))
	if ok && who.role.includes(RoleOperator) || len(g.tokens) == 0 {
		config.MaxRequestBodySize = maxEventRequest
	}
	return config
}
