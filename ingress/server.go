package ingress

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/recover"
	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"

	"holdfast/event/oversight"
	"holdfast/intake"
	"holdfast/providers"
)

// Options configure a Server. All durations and limits must be positive.
type Options struct {
	Catalogue Catalogue
	// Intake makes events durable. Shutdown closes it.
	Intake *intake.Intake
	// SelfTest is what GET /webhooks/_selftest looks at; nil: the path does not exist.
	SelfTest *SelfTest
	// Dispatcher serves the clients of an outbound dispatcher; nil: there is none.
	Dispatcher Dispatcher
	// Refusals remember why requests were refused; nil makes some of the server's own.
	Refusals *Refusals
	// Errors takes what goes wrong for the error log; nil where there is none, which is no reason not to receive.
	Errors ErrorSink
	// HeaderTimeout bounds reading the headers, BodyTimeout the body after them, WriteTimeout the answer, IdleTimeout the pause
	// between requests.
	HeaderTimeout time.Duration
	BodyTimeout   time.Duration
	WriteTimeout  time.Duration
	IdleTimeout   time.Duration
	// BodyLimit, in bytes, holds where a provider declares none of its own.
	BodyLimit int
	// MaxConns bounds the connections, MaxConnsPerIP those of one peer address (0: no limit).
	MaxConns      int
	MaxConnsPerIP int
	// TrustedProxies are the addresses and networks whose word in X-Forwarded-For is believed; empty: nobody's.
	TrustedProxies []string
	// Questions reach the handlers that answer the events whose sender waits for an answer.
	Questions Asker
	// HandlerURL gives the address of a handler by the name that a definition has for it; "" if it is not configured.
	HandlerURL func(name string) string
	// Rates are shared with the other processes of the installation; nil: this process counts alone.
	Rates RateStore
	// PublicURL is how senders see this server (https://hooks.example.com), for schemes that sign the URL; "" if unknown.
	PublicURL string
}

// Catalogue finds the definition that a request is for.
type Catalogue interface {
	Lookup(name string) (*providers.Provider, bool)
	// ByPath resolves /webhooks/{provider} and every path of its own that a definition declares.
	ByPath(path string) (p *providers.Provider, params map[string]string, ok bool)
}

// Dispatcher serves what the clients of an outbound dispatcher ask beside publishing.
type Dispatcher interface {
	// Serves says whether a path is one of its own. Handle answers a request for one, and lets in whom it knows.
	Serves(path string) bool
	Handle(c *fasthttp.RequestCtx)
	// Check says what is wrong with the body of an authentic request to a provider, if one of its clients sends it; "" otherwise.
	Check(provider, authorization string, body []byte) (problem string)
}

// ErrorSink takes entries for the error log. Record neither waits nor fails.
type ErrorSink interface {
	Record(e oversight.ErrorEntry)
}

// maxHeaderBytes bounds the request line and the headers together.
const maxHeaderBytes = 16 << 10

// Server is the public HTTP server.
type Server struct {
	Options

	app      *fiber.App
	metrics  requestMetrics
	tracer   trace.Tracer
	limits   *limits
	proxies  proxies
	headings headings
	now      func() time.Time

	refusalLines refusalLines
	examinations *rate.Limiter

	// What the self-test shows.
	lastMinute lastMinute
	inflight   atomic.Int64
	draining   atomic.Bool
	tested     selfTest

	mu       sync.Mutex
	listener net.Listener // what Shutdown closes, even if nothing has been accepted on it yet
	stopped  bool
}

// New makes a server; nothing listens yet.
func New(o Options) (*Server, error) {
	metrics, err := newRequestMetrics()
	if err != nil {
		return nil, err
	}
	limits, err := newLimits(o.Rates)
	if err != nil {
		return nil, err
	}
	proxies, err := newProxies(o.TrustedProxies)
	if err != nil {
		return nil, err
	}
	headings, err := newHeadings(o.MaxConns)
	if err != nil {
		return nil, err
	}
	s := &Server{
		Options: o, metrics: metrics, tracer: otel.Tracer("holdfast/ingress"), limits: limits, proxies: proxies, headings: headings,
		now: time.Now, examinations: rate.NewLimiter(examinationsPerSecond, examinationsAtOnce),
	}
	if s.Refusals == nil {
		s.Refusals = NewRefusals()
	}
	if err := s.observeNow(); err != nil {
		return nil, err
	}
	s.app = fiber.New(fiber.Config{
		AppName:                      "holdfast",
		BodyLimit:                    o.BodyLimit,
		ReadBufferSize:               maxHeaderBytes,
		Concurrency:                  o.MaxConns,
		ReadTimeout:                  o.HeaderTimeout,
		WriteTimeout:                 o.WriteTimeout,
		IdleTimeout:                  o.IdleTimeout,
		CaseSensitive:                true,
		StrictRouting:                true,
		Immutable:                    true,
		DisableStartupMessage:        true,
		DisablePreParseMultipartForm: true, // a parsed form is written anew, and its bytes are no longer those that were signed
		EnableTrustedProxyCheck:      true, // and no proxy that Fiber trusts: it would take the address that the sender claims
		ErrorHandler:                 s.refuseUnread,
	})
	s.limitConnections()
	// recover stands outermost: fasthttp has none, and a panic would end the process with every other request in it. It
	// stands once more inside observe, so that a panic of the handler is answered and reported like any other failure.
	recoverPanic := recover.New(recover.Config{EnableStackTrace: true, StackTraceHandler: reportPanic})
	s.app.Use(recoverPanic, s.observe, recoverPanic, s.receive)
	return s, nil
}
