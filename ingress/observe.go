package ingress

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime/debug"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/providers"
	"holdfast/providers/auth/denial"
)

// The headers by which a sender can name a request and the chain that it belongs to.
const (
	headerRequestID     = "X-Request-Id"
	headerCorrelationID = "X-Correlation-Id"
)

const maxRequestIDLength = 128

// observation is what is known of a request while it is handled. It holds no memory of Fiber's.
type observation struct {
	// ctx carries the span of a request that is authentic and nothing else: an event that has been accepted must not be lost
	// because its sender hung up or the server is shutting down.
	ctx           context.Context
	requestID     string
	correlationID string
	receivedAt    time.Time
	// definition is that of the provider the request is for; nil while that is not known.
	definition *providers.Provider
	provider   string
	outcome    string
	reason     string
	// code is what a sender is told of the reason, and so all that the public port tells anybody.
	code code
	// failure says why an authentic request was not accepted.
	failure string
	events  int
	// client is the address that the request comes from, and denied why it is not authentic.
	client netip.Addr
	denied *denial.Error
}

type observationKey struct{}

// A request is these until more is known of it. What a stranger sends never becomes the name of a provider.
const (
	unknownProvider = "unknown"
	outcomeRefused  = "refused"
)

func observed(c *fiber.Ctx) *observation { return c.Locals(observationKey{}).(*observation) }

// observe surrounds the handling of a request with its span, its metrics and its one log line.
func (s *Server) observe(c *fiber.Ctx) error {
	o := s.begin(c)
	s.inflight.Add(1)
	defer s.inflight.Add(-1)
	err := c.Next()
	if err != nil {
		err = s.refuseError(c, err)
	}
	if o.outcome != outcomeSelfTest && o.outcome != outcomeDispatcher {
		s.report(o, c.Response().StatusCode(), c.Request())
	}
	return err
}

// begin starts the observation of a request and names it to the sender.
func (s *Server) begin(c *fiber.Ctx) *observation {
	o := &observation{ctx: context.Background(), receivedAt: s.now(), provider: unknownProvider, outcome: outcomeRefused}
	o.requestID = takeID(c, headerRequestID, newRequestID)
	o.correlationID = takeID(c, headerCorrelationID, func() string { return o.requestID })
	o.client = s.proxies.client(c)
	c.Locals(observationKey{}, o)
	setSecurityHeaders(c)
	c.Set(headerRequestID, o.requestID)
	c.Set(headerCorrelationID, o.correlationID)
	return o
}

// startSpan begins a trace of our own for an authentic request, as of its arrival: what strangers send must not fill the store
// of traces. The sender's trace, which anybody can claim, is only linked to.
func (s *Server) startSpan(c *fiber.Ctx, o *observation) {
	options := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindServer), trace.WithNewRoot(), trace.WithTimestamp(o.receivedAt),
	}
	if parent := c.Request().Header.Peek("traceparent"); len(parent) > 0 {
		carrier := propagation.MapCarrier{"traceparent": string(parent)}
		remote := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
		if remote.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: remote}))
		}
	}
	//nolint:spancheck // report ends it
	o.ctx, _ = s.tracer.Start(o.ctx, "receive webhook", options...)
}

// traceparent is the trace of the request, for what leaves because of it; "" where the trace is not exported.
func (o *observation) traceparent() string {
	if !trace.SpanContextFromContext(o.ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(o.ctx, carrier)
	return carrier.Get("traceparent")
}

// newRequestID begins with its time, which leads to the events of the request.
func newRequestID() string { return uuid.Must(uuid.NewV7()).String() }

// takeID takes a header's value as an ID where it is one: short and without anything that could forge a log line.
func takeID(c *fiber.Ctx, header string, otherwise func() string) string {
	value := string(c.Request().Header.Peek(header))
	if value == "" || len(value) > maxRequestIDLength {
		return otherwise()
	}
	for _, b := range []byte(value) {
		if b <= ' ' || b > '~' || b == '"' || b == '\\' {
			return otherwise()
		}
	}
	return value
}

// reportPanic names the type of the panic's value only: the value itself may hold a piece of a payload.
func reportPanic(c *fiber.Ctx, value any) {
	ctx := context.Background()
	if o, ok := c.Locals(observationKey{}).(*observation); ok {
		ctx = o.ctx
	}
	slog.ErrorContext(ctx, "request.panicked", "value_type", fmt.Sprintf("%T", value), "stack", string(debug.Stack()))
}

// report shows a request that is answered: the metrics of each, the log of those that somebody may want to read of, the trace
// of those that have one. The request is nil where it could not be read to its end.
func (s *Server) report(o *observation, status int, request *fasthttp.Request) {
	took := s.now().Sub(o.receivedAt)
	s.metrics.answered(o, took)
	s.lastMinute.answer(s.now(), took, string(o.code))
	s.recordRefusal(o, status)
	level, shown, leftOut := slog.LevelInfo, true, 0
	if status >= fiber.StatusInternalServerError {
		level = slog.LevelError
	}
	// A request that isn't authentic is a refusal also if it is answered with 503, because its certificate is unavailable.
	if o.outcome == outcomeRefused && (status < fiber.StatusInternalServerError || o.denied != nil) {
		shown, leftOut = s.refusalLines.take(refusalKind{o.provider, o.reason}, s.now())
		s.Refusals.count(o.provider, o.reason, o.receivedAt)
		if shown {
			s.Refusals.keep(o.provider, o.refusal(status, request))
		}
	}
	if shown {
		o.writeLine(level, status, took, leftOut)
	}
	o.endSpan(status)
}

func (o *observation) writeLine(level slog.Level, status int, took time.Duration, leftOut int) {
	fields := []slog.Attr{
		slog.String("provider", o.provider), slog.String("outcome", o.outcome), slog.String("reason", o.reason),
		slog.Int("status", status), slog.Int("events", o.events), slog.String("request_id", o.requestID),
		slog.String("correlation_id", o.correlationID), slog.Int64("duration_ms", took.Milliseconds()),
	}
	if leftOut > 0 {
		fields = append(fields, slog.Int("left_out", leftOut))
	}
	if o.failure != "" {
		fields = append(fields, slog.String("error", o.failure))
	}
	fields = append(fields, o.denial()...)
	slog.LogAttrs(o.ctx, level, "event.received", fields...)
}

// endSpan ends the span of the request, if it has one.
func (o *observation) endSpan(status int) {
	span := trace.SpanFromContext(o.ctx)
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("holdfast.provider", o.provider),
			attribute.String("holdfast.outcome", o.outcome),
			attribute.String("holdfast.request_id", o.requestID),
			attribute.Int("http.response.status_code", status),
		)
		if status >= fiber.StatusInternalServerError {
			span.SetStatus(codes.Error, o.reason)
		}
	}
	span.End()
}

// recordRefusal puts into the error log a request that was answered with a 5xx. One that is refused for its sender's sake, as
// without a good signature, leaves no row behind: it is counted and logged only.
func (s *Server) recordRefusal(o *observation, status int) {
	if s.Errors == nil || status < fiber.StatusInternalServerError {
		return
	}
	e := oversight.ErrorEntry{
		At: o.receivedAt, Phase: event.PhaseReceive, Provider: o.provider,
		Class: event.ClassTransient, Code: o.reason, Message: "the request could not be handled",
	}
	if o.failure != "" {
		e.Message, e.Meta = o.failure, map[string]string{"request_id": o.requestID}
	}
	s.Errors.Record(e)
}
