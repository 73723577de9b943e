package dispatcher

import (
	"log/slog"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"holdfast/event/eventtype"
	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/httpapi"
)

// Provider is the definition of the dispatcher's events.
const Provider = eventtype.Publisher

// Options configure the dispatcher. Only Log may be nil.
type Options struct {
	API *api.API
	// Authenticate returns nil for an Authorization header with the dispatcher's token.
	Authenticate func(header string) error
	// Key returns the idempotency key of an event from its own ID and its source; "" if the definition sets none for it.
	Key func(id, source string) string
	// Parse returns nil for a body whose events the definition can process.
	Parse func(body []byte) error
	Log   *slog.Logger
}

// Server serves a dispatcher's clients. The ingress passes their requests on.
type Server struct {
	Options

	handle  fasthttp.RequestHandler
	lockout *access.Lockout
	recent  recentSources
}

// caller is the actor in the audit log for clients with the token.
var caller = access.Caller{Name: "dispatcher", Role: access.RoleIntegrator}

// New returns a Server.
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

// Serves reports whether a path belongs to the dispatcher. The ingress serves POST /events.
func (s *Server) Serves(path string) bool {
	return path == "/subscriptions" || strings.HasPrefix(path, "/subscriptions/") || strings.HasPrefix(path, "/events/")
}

// Handle serves a request.
func (s *Server) Handle(c *fasthttp.RequestCtx) { s.handle(c) }

// admit admits clients with the token from any address, and locks an address out for a while after many wrong tokens.
func (s *Server) admit(c *fiber.Ctx) error {
	header := c.Get(fiber.HeaderAuthorization)
	if s.Authenticate(header) == nil {
		httpapi.SetCaller(c, caller)
		return c.Next()
	}
	address := c.Context().RemoteIP()
	if wait := s.lockout.Remaining(address); wait > 0 {
		httpapi.SetRetryAfter(c, wait)
		return httpapi.Refuse(httpapi.CodeLockedOut)
	}
	if header != "" && s.lockout.Fail(address) {
		s.Log.Warn("operator.locked_out", "address", address.String())
	}
	c.Set(fiber.HeaderWWWAuthenticate, "Bearer")
	return httpapi.Refuse(httpapi.CodeUnauthenticated)
}

// fail responds as the operator API does.
func (s *Server) fail(c *fiber.Ctx, err error) error {
	shown := httpapi.FailureOf(c, err)
	if shown.Status >= fiber.StatusInternalServerError {
		s.Log.Error("operator.failed", "request_id", shown.RequestID, "path", c.Path(), "error", err)
	}
	if shown.Status == fiber.StatusServiceUnavailable {
		httpapi.SetRetryAfter(c, time.Second)
	}
	return c.Status(shown.Status).JSON(shown.Body())
}
