package ingress

import (
	"bytes"
	"cmp"
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
	"holdfast/ingress/limits"
	"holdfast/providers"
	"holdfast/providers/auth/denial"
)

// The headers in which a sender can pass a request ID and a correlation ID.
const (
	headerRequestID     = "X-Request-Id"
	headerCorrelationID = "X-Correlation-Id"
)

const maxRequestIDLength = 128

// observation collects what is known of a request while it is handled. It references no memory of Fiber's.
type observation struct {
	// ctx carries only the span of an authentic request, not its cancellation: an accepted event must not be lost because its
	// sender hung up or the server is shutting down.
	ctx           context.Context
	requestID     string
	correlationID string
	receivedAt    time.Time
	// definition is the definition of the request's provider; nil while unknown.
	definition *providers.Provider
	provider   string
	outcome    string
	reason     string
	// code is the reason sent to the sender, and the only one that the public port reveals.
	code code
	// failure is why an authentic request wasn't accepted.
	failure string
	events  int
	// client is the address that the request comes from, and denied why it isn't authentic.
	client netip.Addr
	denied *denial.Error
	// memory counts what the body holds, and turn ends its turn to be decoded; both are nil without a body.
	memory *limits.Share
	turn   func()
}

// endTurn allows the next large body to be decoded. It may be called several times.
func (o *observation) endTurn() {
	if o.turn != nil {
		o.turn()
		o.turn = nil
	}
}

type observationKey struct{}

// The labels of a request until more is known. A name that a stranger sends never becomes a provider label.
const (
	unknownProvider = "unknown"
	outcomeRefused  = "refused"
)

func observed(c *fiber.Ctx) *observation { return c.Locals(observationKey{}).(*observation) }

// observe wraps the handling of a request with its span, its metrics and its log line.
func (s *Server) observe(c *fiber.Ctx) error {
	o := s.begin(c)
	s.inflight.Add(1)
	defer s.inflight.Add(-1)
	defer func() {
		o.endTurn()
		o.memory.Release()
	}()
	err := c.Next()
	if err != nil {
		err = s.refuseError(c, err)
	}
	if o.outcome != outcomeSelfTest && o.outcome != outcomeDispatcher {
		s.report(o, c.Response().StatusCode(), c.Request())
	}
	return err
}

// begin starts the observation of a request and returns its ID to the sender.
func (s *Server) begin(c *fiber.Ctx) *observation {
	o := &observation{ctx: context.Background(), receivedAt: s.now(), provider: unknownProvider, outcome: outcomeRefused}
	if o.requestID = idFrom(c, headerRequestID); o.requestID == "" {
		o.requestID = uuid.Must(uuid.NewV7()).String() // begins with a timestamp, which helps to find the events of the request
	}
	o.correlationID = cmp.Or(idFrom(c, headerCorrelationID), o.requestID)
	o.client = s.proxies.client(c)
	c.Locals(observationKey{}, o)
	setSecurityHeaders(c)
	c.Set(headerRequestID, o.requestID)
	c.Set(headerCorrelationID, o.correlationID)
	return o
}

// startSpan begins our own trace for an authentic request, as of its arrival: strangers must not fill the trace store. The
// sender's trace ID, which could be forged, is only linked.
func (s *Server) startSpan(o *observation, parent string) {
	options := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindServer), trace.WithNewRoot(), trace.WithTimestamp(o.receivedAt),
	}
	if parent != "" {
		carrier := propagation.MapCarrier{"traceparent": parent}
		remote := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
		if remote.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: remote}))
		}
	}
	//nolint:spancheck // its report ends it
	o.ctx, _ = s.tracer.Start(o.ctx, "receive webhook", options...)
}

// traceparent returns the request's trace for calls made on its behalf; "" if the trace isn't exported.
func (o *observation) traceparent() string {
	if !trace.SpanContextFromContext(o.ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(o.ctx, carrier)
	return carrier.Get("traceparent")
}

// idFrom returns a header's value if it is valid as an ID: short, and without characters that could forge a log line. Otherwise
// it returns "".
func idFrom(c *fiber.Ctx, header string) string { return validID(c.Request().Header.Peek(header)) }

func validID(value []byte) string {
	isRefused := func(b rune) bool { return b <= ' ' || b > '~' || b == '"' || b == '\\' }
	if len(value) > maxRequestIDLength || bytes.ContainsFunc(value, isRefused) {
		return ""
	}
	return string(value)
}

// reportPanic logs only the type of the panic's value: the value itself may contain a piece of a payload.
func reportPanic(c *fiber.Ctx, value any) {
	ctx := context.Background()
	if o, ok := c.Locals(observationKey{}).(*observation); ok {
		ctx = o.ctx
	}
	slog.ErrorContext(ctx, "request.panicked", "value_type", fmt.Sprintf("%T", value), "stack", string(debug.Stack()))
}

// report records the answer: in metrics always, in the log if an operator may need it, and in the trace if there is one. The
// request is nil if reading it failed.
func (s *Server) report(o *observation, status int, request *fasthttp.Request) {
	took := s.now().Sub(o.receivedAt)
	s.metrics.answered(o, took)
	s.lastMinute.answer(s.now(), took, string(o.code))
	s.recordRefusal(o, status)
	if s.Refused != nil && status >= fiber.StatusBadRequest && o.provider != unknownProvider {
		s.Refused.Count(o.provider, o.receivedAt, o.failedAuthentication())
	}
	level, shown, suppressed := slog.LevelInfo, true, 0
	if status >= fiber.StatusInternalServerError {
		level = slog.LevelError
	}
	// An unauthenticated request is a refusal even if it is answered with 503.
	if o.outcome == outcomeRefused && (status < fiber.StatusInternalServerError || o.isUnproven()) {
		shown, suppressed = s.refusalLines.allow(refusalKind{o.provider, o.reason}, s.now())
		s.Refusals.count(o.provider, o.reason, o.receivedAt)
		if shown {
			s.Refusals.keep(o.provider, o.refusal(status, request))
		}
	}
	if shown {
		o.writeLine(level, status, took, suppressed)
	}
	o.endSpan(status)
}

// isUnproven reports whether a request was answered with 503 although it may be a stranger's: its certificate is unavailable, or
// there is no memory for its body.
func (o *observation) isUnproven() bool { return o.denied != nil || o.code == codeBodyMemory }

// failedAuthentication reports whether a request failed the check of its signature or token. Without a secret nothing is checked:
// most installations use few of the built-in providers.
func (o *observation) failedAuthentication() bool {
	return o.code == codeUnauthenticated && o.denied != nil && o.denied.Reason != denial.NoSecret
}

func (o *observation) writeLine(level slog.Level, status int, took time.Duration, suppressed int) {
	fields := []slog.Attr{
		slog.String("provider", o.provider), slog.String("outcome", o.outcome), slog.String("reason", o.reason),
		slog.Int("status", status), slog.Int("events", o.events), slog.String("request_id", o.requestID),
		slog.String("correlation_id", o.correlationID), slog.Int64("duration_ms", took.Milliseconds()),
	}
	if suppressed > 0 {
		fields = append(fields, slog.Int("suppressed", suppressed))
	}
	if o.failure != "" {
		fields = append(fields, slog.String("error", o.failure))
	}
	fields = append(fields, o.denial()...)
	slog.LogAttrs(o.ctx, level, "event.received", fields...)
}

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

// recordRefusal adds requests answered with a 5xx to the error log, and those whose body is too large: a provider that really
// sends such bodies loses the events, so `holdfast doctor` reports them. Requests refused because of their sender, such as for a
// bad signature, are only counted and logged.
func (s *Server) recordRefusal(o *observation, status int) {
	tooLarge := o.code == codeTooLarge && o.provider != unknownProvider
	if s.Errors == nil || o.code == codeBodyMemory || status < fiber.StatusInternalServerError && !tooLarge {
		return
	}
	e := oversight.ErrorEntry{
		At: o.receivedAt, Phase: event.PhaseReceive, Provider: o.provider,
		Class: event.ClassTransient, Code: o.reason, Message: "the request could not be handled",
	}
	if tooLarge {
		e.Class, e.Message = event.ClassRejected, "the body was larger than the limit of the provider"
	}
	if o.failure != "" {
		e.Message, e.Meta = o.failure, map[string]string{"request_id": o.requestID}
	}
	s.Errors.Record(e)
}
