package guard

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/cors"

	"holdfast/operator/api"
)

const (
	// payloadsPath is the path prefix of the codec endpoint.
	payloadsPath = "/codec/"
	changesPath  = "/changes"
)

// preflightAge is how long browsers cache the response to a preflight, in seconds.
const preflightAge = 600

// AllowCrossOrigin allows pages of other configured origins to read their routes. They send no cookies.
func (g *Guard) AllowCrossOrigin(app *fiber.App) {
	if len(g.web) > 0 { // the headers that Temporal Web sends
		app.Use(strings.TrimSuffix(payloadsPath, "/"),
			allow(g.web, fiber.MethodPost, "Content-Type, X-Namespace, Authorization, Authorization-Extras"))
	}
	if len(g.readers) > 0 {
		app.Use(changesPath, allow(g.readers, fiber.MethodGet, "Authorization, Cache-Control, Last-Event-ID"))
	}
}

func allow(origins []string, method, headers string) fiber.Handler {
	return cors.New(cors.Config{
		AllowOrigins: strings.Join(origins, ","), AllowMethods: method, AllowHeaders: headers, MaxAge: preflightAge,
	})
}

// allowedOrigins returns the origins other than our own whose pages may call the route.
func (g *Guard) allowedOrigins(c *fiber.Ctx) []string {
	switch path := c.Path(); {
	case strings.HasPrefix(path, payloadsPath):
		return g.web
	case path == changesPath:
		return g.readers
	}
	return nil
}

// isCrossOrigin reports whether a page of another origin makes the request. A browser sends our cookie along from a page of
// the same site, and with a WebSocket always, so allowedOrigins can't use sessions.
func (g *Guard) isCrossOrigin(c *fiber.Ctx) bool {
	origin := c.Get(fiber.HeaderOrigin)
	return slices.Contains(g.allowedOrigins(c), origin) && !isOurOrigin(c, origin)
}

// authorizationOf returns the header that authorizes a request. A browser can't send one with a WebSocket, so the page sends its
// token as a subprotocol; a password that the browser sends is meant for a proxy.
func authorizationOf(c *fiber.Ctx) string {
	header := c.Get(fiber.HeaderAuthorization)
	isWebSocket := strings.EqualFold(c.Get(fiber.HeaderUpgrade), "websocket")
	if header != "" && !isBasicAuth(header) || c.Path() != changesPath || !isWebSocket {
		return header
	}
	for name := range strings.SplitSeq(c.Get("Sec-WebSocket-Protocol"), ",") {
		if token, ok := strings.CutPrefix(strings.TrimSpace(name), api.TokenProtocol); ok {
			return "Bearer " + token
		}
	}
	return header
}
