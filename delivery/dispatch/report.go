package dispatch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"holdfast/delivery"
)

// report records an attempt. It logs failures at most once a second for each destination.
func (d *Dispatcher) report(r preparedJob, m delivery.Message, s delivery.Outcome) {
	ctx := context.Background()
	d.metrics.record(ctx, r.target.Destination, s)
	if s.Kind == delivery.OK {
		if slog.Default().Enabled(ctx, slog.LevelDebug) {
			slog.DebugContext(ctx, "delivery.success", r.fields(m, s)...)
		}
		return
	}
	suppressed, due := d.failures.next(s.DestinationID, time.Now())
	if !due {
		return
	}
	slog.WarnContext(ctx, "delivery.failure", append(r.fields(m, s), "outcome", outcomeOf(s.Kind), "dead", s.Dead, "error", s.Error,
		"suppressed", suppressed)...)
}

func (r preparedJob) fields(m delivery.Message, s delivery.Outcome) []any {
	return []any{
		"event_id", s.EventID, "provider", m.Receipt.Provider, "event_type", m.Type, "subscription", r.target.Subscription.Name,
		"destination", r.target.Destination.Name, "kind", kindOf(r.target.Destination), "code", s.Code,
		"attempts", s.Attempts + 1, "duration_ms", s.Took.Milliseconds(), "resent", s.Resent,
	}
}

// failureEvery is the min pause between log lines about failures of one destination, failuresFor the time for which they are
// tracked.
const (
	failureEvery = time.Second
	failuresFor  = 10 * time.Minute
)

// failureLog limits the log lines about failures.
type failureLog struct {
	mu   sync.Mutex
	last map[int64]*lastLine
	swap time.Time
}

type lastLine struct {
	at         time.Time
	suppressed int
}

func newFailureLog() *failureLog { return &failureLog{last: map[int64]*lastLine{}, swap: time.Now()} }

func (f *failureLog) next(destination int64, now time.Time) (suppressed int, due bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.swap) > failuresFor {
		f.last, f.swap = map[int64]*lastLine{}, now
	}
	line := f.last[destination]
	if line == nil {
		line = &lastLine{}
		f.last[destination] = line
	}
	if now.Sub(line.at) < failureEvery {
		line.suppressed++
		return 0, false
	}
	suppressed, line.at, line.suppressed = line.suppressed, now, 0
	return suppressed, true
}

// trace starts the span of an attempt, in the trace of the event if that is exported. The sender passes the context on to the
// destination.
func (d *Dispatcher) trace(ctx context.Context, r preparedJob, m delivery.Message) (context.Context, func(delivery.Result)) {
	carrier := propagation.MapCarrier{"traceparent": m.Receipt.Trace}
	ctx = propagation.TraceContext{}.Extract(ctx, carrier)
	//nolint:spancheck // the caller ends it
	ctx, span := d.tracer.Start(ctx, "deliver", trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(
		attribute.String("event_id", r.EventID), attribute.String("subscription", r.target.Subscription.Name),
		attribute.String("destination", r.target.Destination.Name), attribute.Int("attempt", r.Attempts+1),
	))
	return ctx, func(result delivery.Result) { //nolint:spancheck // as above
		span.SetAttributes(attribute.String("outcome", outcomeOf(result.Kind)), attribute.String("code", result.Code))
		if result.Kind != delivery.OK {
			span.SetStatus(codes.Error, result.Code)
		}
		span.End()
	}
}
