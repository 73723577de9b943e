package dispatcher

import (
	"context"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/exchange"
)

// Provider is the definition by which the dispatcher's events are published.
const Provider = "events"

// Options are what the dispatcher is made of. Only Log may be nil.
type Options struct {
	API *api.API
	// Sources lists sources of the published events, at most limit.
	Sources func(ctx context.Context, limit int) ([]string, error)
	// EventsOfWorkflows returns the IDs of the latest events of some workflows, by workflow ID, as far as PostgreSQL has any.
	EventsOfWorkflows func(ctx context.Context, workflowIDs []string) (eventIDs map[string]string, err error)
	// Authenticate is nil for an Authorization header that shows the dispatcher's token.
	Authenticate func(header string) error
	// Key is the idempotency key of an event by its own ID and its source; "" if the definition gives such an event none.
	Key func(id, source string) string
	// Parse is nil for a body whose events the definition can process.
	Parse func(body []byte) error
	Log   *slog.Logger
}

// Server answers the clients of a dispatcher. The ingress hands it their requests.
type Server struct {
	Options

	handle  fasthttp.RequestHandler
	lockout *access.Lockout
	recent  recentSources
}

// caller stands in the audit log for whoever has the token.
var caller = access.Caller{Name: "dispatcher", Role: access.RoleIntegrator}

// New makes a server.
func New(o Options) *Server {
	s := &Server{Options: o, lockout: access.NewLockout()}
	if s.Log == nil {
		s.Log = slog.Default()
	}
	app := fiber.New(fiber.Config{
		CaseSensitive: true, StrictRouting: true, Immutable: true, DisableStartupMessage: true,
		DisablePreParseMultipartForm: true, EnableTrustedProxyCheck: true, ErrorHandler: s.fail,
	})
	app.Use(s.admit)
	app.Get("/events/:id", s.showEvent)
	app.Get("/events/:id/attempts", s.listAttempts)
	app.Get("/subscriptions", s.listSubscriptions)
	app.Post("/subscriptions", s.createSubscription)
	app.Get("/subscriptions/:id", s.showSubscription)
	app.Put("/subscriptions/:id", s.changeSubscription)
	app.Patch("/subscriptions/:id", s.changeSubscription)
	app.Delete("/subscriptions/:id", s.deleteSubscription)
	s.handle = app.Handler()
	return s
}

// Serves says whether a path is one of the dispatcher's own. POST /events is the ingress's.
func (s *Server) Serves(path string) bool {
	return path == "/subscriptions" || strings.HasPrefix(path, "/subscriptions/") || strings.HasPrefix(path, "/events/")
}

// Handle answers a request.
func (s *Server) Handle(c *fasthttp.RequestCtx) { s.handle(c) }

// admit lets in who has the token, from everywhere. Whoever has shown many wrong ones is locked out for a while.
func (s *Server) admit(c *fiber.Ctx) error {
	header := c.Get(fiber.HeaderAuthorization)
	if s.Authenticate(header) == nil {
		exchange.SetCaller(c, caller)
		return c.Next()
	}
	address := c.Context().RemoteIP()
	if wait := s.lockout.Remaining(address); wait > 0 {
		setRetryAfter(c, wait)
		return exchange.Refuse(exchange.CodeLockedOut)
	}
	if header != "" && s.lockout.Fail(address) {
		s.Log.Warn("operator.locked_out", "address", address.String())
	}
	c.Set(fiber.HeaderWWWAuthenticate, "Bearer")
	return exchange.Refuse(exchange.CodeUnauthenticated)
}

// fail answers as the operator API does.
func (s *Server) fail(c *fiber.Ctx, err error) error {
	shown := exchange.FailureOf(c, err)
	if shown.Status >= fiber.StatusInternalServerError {
		s.Log.Error("operator.failed", "request_id", shown.RequestID, "path", c.Path(), "error", err)
	}
	if shown.Status == fiber.StatusServiceUnavailable {
		setRetryAfter(c, time.Second)
	}
	return c.Status(shown.Status).JSON(shown.Body())
}

func setRetryAfter(c *fiber.Ctx, wait time.Duration) {
	c.Set(fiber.HeaderRetryAfter, strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}
