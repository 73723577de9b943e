package operator

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/guard"
	"holdfast/operator/httpapi"
)

// Options configure the operator server.
type Options struct {
	// Version is the build shown in the index.
	Version string
	// Checks decide from Started to Drain whether the process is ready.
	Checks []Check
	// EitherIsEnough makes the process ready if any check succeeds.
	EitherIsEnough bool
	// Inbox counts the events in the inbox for GET /readyz; nil leaves the count out.
	Inbox func(context.Context) (event.InboxDepth, error)
	// CheckTimeout bounds one check; 0 means 2 seconds.
	CheckTimeout time.Duration
	// API is the operator API; nil leaves it out.
	API *api.API
	// Refusals are this process's refused requests; nil leaves them out.
	Refusals api.RefusalMemory
	// Tokens grant access to the API. Without tokens, every client that reaches the server may do anything: see CheckAddress.
	Tokens access.Tokens
	// Sessions stores logins; nil disables them. LoginLinks are one-time login links; nil disables those.
	Sessions   guard.SessionStore
	LoginLinks *access.LoginLinks
	// TemporalWeb are the origins whose pages may call the codec endpoint.
	TemporalWeb []string
	// ChangesOrigins are the origins whose pages may read the change feed.
	ChangesOrigins []string
	// Metrics serves GET /metrics to Prometheus, MetricsJSON the same numbers as JSON, MetricsHistory those of the last hours; nil
	// leaves the routes out.
	Metrics, MetricsJSON, MetricsHistory http.Handler
	// Site is the console; nil leaves it out.
	Site *guard.Site
	// Prefix is the path under which a proxy serves this server, like "/holdfast", or "".
	Prefix string
	// Log receives errors; nil is slog.Default.
	Log *slog.Logger
	// ShowsCauses puts the text of an error into the response instead of the log, for callers inside this process.
	ShowsCauses bool
}

// Server is the private HTTP server of one process. It can listen before the rest of the process starts: until Started it
// reports that the process isn't ready.
type Server struct {
	app     *fiber.App
	probes  *probes
	phase   atomic.Value
	inbox   func(context.Context) (event.InboxDepth, error)
	routes  []httpapi.Route
	site    *guard.Site
	version string
	log     *slog.Logger

	eitherIsEnough, showsCauses bool
	// agents serves agents; nil without the API.
	agents *agentDoor
	// closeStreams ends the streams; nil if there are none.
	closeStreams func()

	mu       sync.Mutex
	listener net.Listener
	stopped  bool
}

const (
	defaultCheckTimeout = 2 * time.Second
	readTimeout         = 10 * time.Second
	writeTimeout        = 30 * time.Second
	idleTimeout         = 60 * time.Second
	bodyLimit           = 64 << 10
	// maxConnections leaves room for maxIdleConnections, requests being served, and connections being closed.
	maxConnections = 512
	// maxHeaders is in bytes; proxies and tracing add to Fiber's default of 4 KiB.
	maxHeaders = 16 << 10
)

// New returns a server that doesn't listen yet.
func New(o Options) *Server {
	s := &Server{
		probes:  &probes{checks: o.Checks, timeout: cmp.Or(o.CheckTimeout, defaultCheckTimeout)},
		version: o.Version,
		log:     cmp.Or(o.Log, slog.Default()),
		inbox:   o.Inbox,
		site:    o.Site,

		eitherIsEnough: o.EitherIsEnough, showsCauses: o.ShowsCauses,
	}
	s.phase.Store(starting)
	s.app = newApp(s.fail)
	if o.Prefix != "" {
		s.app.Use(withoutPrefix(o.Prefix))
	}
	s.app.Use(s.recoverPanic, identify, secure)
	s.routes = []httpapi.Route{
		httpapi.Get("index", "/", "Routes of this server", s.index).Returns(fiber.StatusOK, index{}),
		httpapi.Get("health", "/healthz", "200 while the process is alive", s.healthz).Returns(fiber.StatusOK, liveness{}),
		httpapi.Get("ready", "/readyz", "200 if the process can do its work, or 503 with the reason", s.readyz).
			Returns(fiber.StatusOK, readiness{}).Returns(fiber.StatusServiceUnavailable, readiness{}),
	}
	s.routes = append(s.routes, o.metricRoutes()...)
	s.routes = append(s.routes, o.refusalRoutes()...)
	if o.API != nil {
		s.routes = append(s.routes, httpapi.Get("openapi", "/openapi.json", "This API as an OpenAPI 3.1 document", openAPI).
			Returns(fiber.StatusOK, map[string]any{}))
		s.routes = append(s.routes, o.API.Routes()...)
		s.agents = newAgentDoor(s)
		s.routes = append(s.routes, s.agents.route())
	}
	g := guard.New(guard.Options{
		Tokens: o.Tokens, Sessions: o.Sessions, LoginLinks: o.LoginLinks, TemporalWeb: o.TemporalWeb, ChangesOrigins: o.ChangesOrigins,
		Prefix: o.Prefix, Log: s.log, BodyLimit: bodyLimit,
	})
	g.AllowCrossOrigin(s.app)
	if o.Site != nil {
		o.Site.Add(s.app, g, o.Prefix)
	}
	for _, r := range s.routes {
		s.app.Add(r.Method, r.Path, g.Require(access.Needs(r.Method, r.Path), false), r.Handler)
	}
	s.app.Server().HeaderReceived = g.LimitBody
	s.app.Server().ExpectHandler = s.expect(g)
	if o.API != nil && o.API.Live != nil {
		s.closeStreams = o.API.Live.Close
	}
	return s
}

// CheckAddress refuses to serve an API without tokens beyond this machine.
func CheckAddress(address string, tokens access.Tokens) error {
	if len(tokens) > 0 {
		return nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("read operator address: %w", err)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("the operator API has no tokens, so everybody who reaches %s could change everything: listen on "+
		"this machine only (HOLDFAST_OPERATOR_ADDR=127.0.0.1:8081), or make a token with `holdfast token new ada admin` and set "+
		"HOLDFAST_OPERATOR_TOKENS to the entry that it prints", address)
}

// CheckPrefix refuses a proxy path that begins like one of ours: the server couldn't tell whether the proxy has removed it.
func CheckPrefix(prefix string) error {
	first, _, _ := strings.Cut(strings.TrimPrefix(prefix, "/"), "/")
	if prefix == "" || !isOurs(first) {
		return nil
	}
	return fmt.Errorf("%s begins as a path of the operator side does (/%s): choose another one, such as /holdfast", prefix, first)
}

// isOurs reports whether one of our paths begins with a segment.
func isOurs(first string) bool {
	if "/"+first == guard.ConsoleHome {
		return true
	}
	for name := range access.Routes() {
		_, path, _ := strings.Cut(name, " ")
		if ours, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/"); ours == first {
			return true
		}
	}
	return false
}

// newApp sets limits that Fiber and fasthttp leave open.
func newApp(fail fiber.ErrorHandler) *fiber.App {
	app := fiber.New(fiber.Config{
		BodyLimit: bodyLimit, ReadBufferSize: maxHeaders, Concurrency: maxConnections,
		ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		CaseSensitive: true, StrictRouting: true, Immutable: true,
		DisablePreParseMultipartForm: true, DisableStartupMessage: true,
		EnableTrustedProxyCheck: true, // with no proxy listed, no forwarded header is trusted
		ErrorHandler:            fail,
	})
	server := app.Server()
	server.SecureErrorLogMessage = true // fasthttp's error texts quote headers
	server.CloseOnShutdown = true
	limitIdleConnections(server)
	return app
}

// Serve serves on listener until Shutdown, and then returns nil; if that was called first, it returns immediately.
func (s *Server) Serve(listener net.Listener) error {
	s.mu.Lock()
	s.listener = listener
	stopped := s.stopped
	s.mu.Unlock()
	if stopped {
		return listener.Close()
	}
	if err := s.app.Listener(listener); err != nil {
		return fmt.Errorf("serve operator side: %w", err)
	}
	return nil
}

// Started is called once the process has started; from then on, the checks decide whether it is ready.
func (s *Server) Started() { s.phase.CompareAndSwap(starting, started) }

// Drain permanently reports the process as not ready, so that load balancers stop sending requests; everything else continues.
func (s *Server) Drain() { s.phase.Store(draining) }

// Shutdown stops listening and waits until ctx ends for requests in progress.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Drain()
	if s.closeStreams != nil {
		s.closeStreams()
	}
	if s.site != nil && s.site.Close != nil {
		s.site.Close()
	}
	s.mu.Lock()
	s.stopped = true
	listener := s.listener
	s.mu.Unlock()
	if s.agents != nil {
		s.agents.close()
	}
	err := s.app.ShutdownWithContext(ctx)
	if listener != nil {
		_ = listener.Close() // fasthttp has closed it, unless it hadn't begun
	}
	if err != nil {
		return fmt.Errorf("shut operator side down: %w", err)
	}
	return nil
}

// index is the response of GET /.
type index struct {
	Service string          `json:"service"`
	Version string          `json:"version"`
	Routes  []httpapi.Route `json:"routes"`
}

func (s *Server) index(c *fiber.Ctx) error {
	return c.JSON(index{Service: "holdfast", Version: s.version, Routes: s.routes})
}

// liveness is the response of GET /healthz.
type liveness struct {
	OK bool `json:"ok"`
}

func (s *Server) healthz(c *fiber.Ctx) error { return c.JSON(liveness{OK: true}) }

// withoutPrefix removes the prefix that some proxies leave in requests.
func withoutPrefix(prefix string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		rest, ok := strings.CutPrefix(c.Path(), prefix)
		if !ok || rest != "" && rest[0] != '/' {
			return c.Next()
		}
		if rest == "" {
			rest = "/"
		}
		c.Path(rest)
		return c.RestartRouting()
	}
}
