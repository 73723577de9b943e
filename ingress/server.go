// Package ingress is the public HTTP side: it receives a provider's request, authenticates it, gives each event its
// identity, starts the event's workflow and answers.
//
// It answers 2xx only after Temporal has committed. It must never look into a store, and nothing that an unauthenticated
// request carries may be kept.
package ingress

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/recover"
	"github.com/valyala/fasthttp"
	"golang.org/x/sync/singleflight"

	"holdfast/event"
	"holdfast/providers"
)

// Options configure a Server. All durations and limits must be positive.
type Options struct {
	Catalogue Catalogue
	Starter   EventStarter
	// SelfTest is what GET /webhooks/_selftest looks at; nil: the path does not exist.
	SelfTest *SelfTest
	// Errors takes what goes wrong for the error log; nil where there is none, which is no reason not to receive.
	Errors ErrorSink
	// Budget bounds the whole handling of a request once it has been read; StartTimeout bounds one start within it.
	Budget       time.Duration
	StartTimeout time.Duration
	// ReadTimeout bounds headers and body together, WriteTimeout the answer, IdleTimeout the pause between requests.
	ReadTimeout  time.Duration
	WriteTimeout time.Duration
	IdleTimeout  time.Duration
	// BodyLimit, in bytes, holds where a provider declares none of its own.
	BodyLimit int
	// MaxConns bounds the connections, MaxConnsPerIP those of one peer address (0: no limit).
	MaxConns      int
	MaxConnsPerIP int
	// TrustedProxies are the addresses and networks whose X-Forwarded-For is believed; empty: nobody's.
	TrustedProxies []string
	// PublicURL is how senders see this server (https://hooks.example.com), for schemes that sign the URL; "" if unknown.
	PublicURL string
}

// Catalogue finds the definition that a request is for.
type Catalogue interface {
	Lookup(name string) (*providers.Provider, bool)
	// ByPath resolves /webhooks/{provider} and every path of its own that a definition declares.
	ByPath(path string) (p *providers.Provider, params map[string]string, ok bool)
}

// EventStarter makes an event durable: a nil error means that it is committed.
type EventStarter interface {
	Start(ctx context.Context, r event.Receipt, body []byte, reject bool) (Started, error)
}

// ErrorSink takes entries for the error log. Record neither waits nor fails.
type ErrorSink interface {
	Record(e event.ErrorEntry)
}

// maxHeaderBytes bounds the request line and the headers together.
const maxHeaderBytes = 16 << 10

// Server is the public HTTP server.
type Server struct {
	Options

	app     *fiber.App
	metrics requestMetrics
	starts  singleflight.Group // by workflow ID
	now     func() time.Time

	// What the self-test tells.
	minute   minute
	inflight atomic.Int64
	tested   selfTest
}

// New makes a server; nothing listens yet.
func New(o Options) (*Server, error) {
	metrics, err := newRequestMetrics()
	if err != nil {
		return nil, err
	}
	s := &Server{Options: o, metrics: metrics, now: time.Now}
	s.app = fiber.New(fiber.Config{
		AppName:                      "holdfast",
		BodyLimit:                    o.BodyLimit,
		ReadBufferSize:               maxHeaderBytes,
		Concurrency:                  o.MaxConns,
		ReadTimeout:                  o.ReadTimeout,
		WriteTimeout:                 o.WriteTimeout,
		IdleTimeout:                  o.IdleTimeout,
		CaseSensitive:                true,
		StrictRouting:                true,
		Immutable:                    true,
		DisableStartupMessage:        true,
		DisablePreParseMultipartForm: true, // a parsed form is written anew, and its bytes are no longer those that were signed
		EnableTrustedProxyCheck:      true,
		EnableIPValidation:           true,
		TrustedProxies:               o.TrustedProxies,
		ProxyHeader:                  proxyHeader(o.TrustedProxies),
		ErrorHandler:                 s.refuseError,
	})
	s.limitConnections()
	// recover stands outermost: fasthttp has none, and a panic would end the process with every other request in it. It
	// stands once more inside observe, so that a panic of the handler is answered and reported like any other failure.
	recoverPanic := recover.New(recover.Config{EnableStackTrace: true, StackTraceHandler: reportPanic})
	s.app.Use(recoverPanic, s.observe, recoverPanic, s.receive)
	return s, nil
}

func proxyHeader(trusted []string) string {
	if len(trusted) == 0 {
		return ""
	}
	return fiber.HeaderXForwardedFor
}

// limitConnections sets what Fiber does not expose. The body's limit is set before a byte of it is read, because the buffer
// is allocated from the declared length.
func (s *Server) limitConnections() {
	server := s.app.Server()
	server.SecureErrorLogMessage = true
	server.CloseOnShutdown = true
	server.MaxConnsPerIP = s.MaxConnsPerIP
	server.HeaderReceived = func(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
		return fasthttp.RequestConfig{MaxRequestBodySize: s.bodyLimit(h)}
	}
}

func (s *Server) bodyLimit(h *fasthttp.RequestHeader) int {
	var uri fasthttp.URI
	if uri.Parse(nil, h.RequestURI()) != nil {
		return s.BodyLimit
	}
	provider, _, ok := s.Catalogue.ByPath(string(uri.Path()))
	if !ok || provider.BodyLimit() == 0 {
		return s.BodyLimit
	}
	return provider.BodyLimit()
}

// Serve answers on the listener until Shutdown.
func (s *Server) Serve(listener net.Listener) error { return s.app.Listener(listener) }

// Shutdown stops accepting and lets the requests that are under way be answered.
func (s *Server) Shutdown(ctx context.Context) error { return s.app.ShutdownWithContext(ctx) }
