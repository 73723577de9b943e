package ingress

import (
	"cmp"
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

	"holdfast/event/eventtype"
	"holdfast/ingress/intake"
	"holdfast/ingress/limits"
	"holdfast/providers"
	"holdfast/providers/receiving"
)

// Options configure a Server. All durations and limits must be positive.
type Options struct {
	Catalogue Catalogue
	// Intake makes events durable. Shutdown closes it.
	Intake *intake.Intake
	// SelfTest configures GET /webhooks/_selftest; nil disables it.
	SelfTest *SelfTest
	// Dispatcher serves the clients of an outbound dispatcher; nil disables it.
	Dispatcher Dispatcher
	// EventTypes checks published events; nil checks none.
	EventTypes EventTypes
	// Refusals keep the reasons of refused requests; nil creates new ones.
	Refusals *Refusals
	// Errors receives entries for the error log; nil if there is none.
	Errors intake.ErrorSink
	// Refused counts the requests that weren't accepted; nil for no counts.
	Refused RefusedCounter
	// HeaderTimeout bounds reading the headers, WriteTimeout the answer, IdleTimeout the pause between requests. After BodyTimeout a
	// body must have arrived, or be arriving at minBodyRate.
	HeaderTimeout time.Duration
	BodyTimeout   time.Duration
	WriteTimeout  time.Duration
	IdleTimeout   time.Duration
	// BodyMemory bounds the memory, in bytes, for the bodies of all requests; 0 means DefaultBodyMemory.
	BodyMemory int
	// BodyLimit, in bytes, lowers the limits of providers whose definition has none of its own; 0: it doesn't.
	BodyLimit int
	// MaxConns bounds all connections, MaxConnsPerIP the connections of one peer address (0: no limit).
	MaxConns      int
	MaxConnsPerIP int
	// TrustedProxies are the addresses and networks whose X-Forwarded-For is trusted; empty trusts none.
	TrustedProxies []string
	// Questions call the handlers of events whose sender waits for an answer.
	Questions HandlerClient
	// HandlerURL returns the address of a handler by its name in a definition; "" if it isn't configured.
	HandlerURL func(name string) string
	// Rates are shared with the other processes of the installation; nil means that this process counts locally.
	Rates limits.RateStore
	// PublicURL is the address that senders call (https://hooks.example.com), for schemes that sign the URL; "" if unknown.
	PublicURL string
}

// Catalogue finds the definition for a request.
type Catalogue interface {
	Lookup(name string) (*providers.Provider, bool)
	// ByPath resolves /webhooks/{provider} and every path that a definition declares.
	ByPath(path string) (p *providers.Provider, params map[string]string, ok bool)
}

// Dispatcher serves the requests of an outbound dispatcher's clients other than publishing.
type Dispatcher interface {
	// Serves reports whether a path is one of the dispatcher's. Handle answers a request for one and authenticates the client.
	Serves(path string) bool
	Handle(c *fasthttp.RequestCtx)
	// Check returns the problem with the body of an authentic request that one of its clients sends to a provider; "" if none.
	Check(provider, authorization string, body []byte) (problem string)
}

// EventTypes has the declared types of published events.
type EventTypes interface {
	// CheckEvent checks an event of a type, which needn't be declared, by its bytes, with the steps that are left for the request.
	CheckEvent(eventType string, body []byte, left *int) eventtype.Result
}

// RefusedCounter counts requests to a provider that weren't accepted, by their time and whether they failed authentication. It
// must not wait.
type RefusedCounter interface {
	Count(provider string, at time.Time, unauthenticated bool)
}

// DefaultBodyMemory is in bytes.
const DefaultBodyMemory = 256 << 20

// maxHeaderBytes bounds the request line plus the headers.
const maxHeaderBytes = 16 << 10

// Server is the public HTTP server.
type Server struct {
	Options

	app         *fiber.App
	metrics     requestMetrics
	tracer      trace.Tracer
	limits      *limits.Limits
	bodies      *limits.Bodies
	proxies     proxies
	headerCache headerCache
	now         func() time.Time

	refusalLines refusalLines
	examinations *rate.Limiter

	// The state of the self-test.
	lastMinute lastMinute
	inflight   atomic.Int64
	draining   atomic.Bool
	tested     selfTest

	mu       sync.Mutex
	listener net.Listener // for Shutdown, even if nothing has been accepted on it yet
	stopped  bool
}

// New creates a server that doesn't listen yet.
func New(o Options) (*Server, error) {
	metrics, err := newRequestMetrics()
	if err != nil {
		return nil, err
	}
	rates, err := limits.New(o.Rates)
	if err != nil {
		return nil, err
	}
	proxies, err := newProxies(o.TrustedProxies)
	if err != nil {
		return nil, err
	}
	headerCache, err := newHeaderCache(o.MaxConns)
	if err != nil {
		return nil, err
	}
	s := &Server{
		Options: o, metrics: metrics, tracer: otel.Tracer("holdfast/ingress"), limits: rates, proxies: proxies,
		headerCache: headerCache, bodies: limits.NewBodies(cmp.Or(o.BodyMemory, DefaultBodyMemory)),
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
		BodyLimit:                    receiving.OpenLimit(o.BodyLimit),
		StreamRequestBody:            true,
		ReadBufferSize:               maxHeaderBytes,
		Concurrency:                  o.MaxConns,
		ReadTimeout:                  o.HeaderTimeout,
		WriteTimeout:                 o.WriteTimeout,
		IdleTimeout:                  o.IdleTimeout,
		CaseSensitive:                true,
		StrictRouting:                true,
		Immutable:                    true,
		DisableStartupMessage:        true,
		DisablePreParseMultipartForm: true, // a parsed form is re-encoded, and no longer has the signed bytes
		EnableTrustedProxyCheck:      true, // with no proxies trusted: Fiber would use the address that the sender claims
		ErrorHandler:                 s.refuseUnreadable,
	})
	s.limitConnections()
	// recover is the outermost middleware: fasthttp has none, and a panic would end the process with all its requests. It is
	// repeated inside observe, so that a panic of the handler is answered and reported like any other failure.
	recoverPanic := recover.New(recover.Config{EnableStackTrace: true, StackTraceHandler: reportPanic})
	s.app.Use(recoverPanic, s.observe, recoverPanic, s.receive)
	return s, nil
}
