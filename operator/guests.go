package operator

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/cors"

	"holdfast/operator/api"
)

const (
	// payloadsPath is what the codec endpoint lies below.
	payloadsPath = "/codec/"
	// changesPath is that of the change feed.
	changesPath = "/changes"
)

// preflightAge is how long a browser remembers the answer to a preflight, in seconds.
const preflightAge = 600

// admitGuests lets pages of other origins read what is theirs. They send no cookies, and are not asked for any.
func (s *Server) admitGuests(o Options) {
	if len(o.TemporalWeb) > 0 { // the headers are those that Temporal Web sends
		s.app.Use(strings.TrimSuffix(payloadsPath, "/"),
			admit(o.TemporalWeb, fiber.MethodPost, "Content-Type, X-Namespace, Authorization, Authorization-Extras"))
	}
	if len(o.ChangesOrigins) > 0 {
		s.app.Use(changesPath, admit(o.ChangesOrigins, fiber.MethodGet, "Authorization, Cache-Control, Last-Event-ID"))
	}
}

func admit(origins []string, method, headers string) fiber.Handler {
	return cors.New(cors.Config{
		AllowOrigins: strings.Join(origins, ","), AllowMethods: method, AllowHeaders: headers, MaxAge: preflightAge,
	})
}

// guests are the origins of the pages that may call beside our own.
func (g *gate) guests(c *fiber.Ctx) []string {
	switch path := c.Path(); {
	case strings.HasPrefix(path, payloadsPath):
		return g.web
	case path == changesPath:
		return g.readers
	}
	return nil
}

// isGuest says whether a page of another origin calls. A browser sends our cookie along to a page of the same site, and with a
// WebSocket it does so unasked: so a session is none of a guest's.
func (g *gate) isGuest(c *fiber.Ctx) bool {
	origin := c.Get(fiber.HeaderOrigin)
	return slices.Contains(g.guests(c), origin) && !isOurOrigin(c, origin)
}

// shownToken returns the header that authorizes a request. A browser can't send one with a WebSocket: the page names its token as
// a subprotocol, and a password that the browser sends is for the proxy in front.
func shownToken(c *fiber.Ctx) string {
	header := c.Get(fiber.HeaderAuthorization)
	isWebSocket := strings.EqualFold(c.Get(fiber.HeaderUpgrade), "websocket")
	if header != "" && !isForProxy(header) || c.Path() != changesPath || !isWebSocket {
		return header
	}
	for name := range strings.SplitSeq(c.Get("Sec-WebSocket-Protocol"), ",") {
		if token, ok := strings.CutPrefix(strings.TrimSpace(name), api.TokenProtocol); ok {
			return "Bearer " + token
		}
	}
	return header
}
