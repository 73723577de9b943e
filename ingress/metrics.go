package ingress

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"holdfast/event"
	"holdfast/providers"
)

// requestMetrics count what comes in and how it is answered. Their labels come from definitions and from this package, never
// from a request that was not authenticated.
type requestMetrics struct {
	events   metric.Int64Counter
	refused  metric.Int64Counter
	latency  metric.Float64Histogram
	inflight metric.Int64UpDownCounter
	answers  metric.Int64Counter
	spools   metric.Int64Counter
}

func newRequestMetrics() (m requestMetrics, err error) {
	meter := otel.Meter("holdfast/ingress")
	var errs [6]error
	m.events, errs[0] = meter.Int64Counter("holdfast_events_received_total",
		metric.WithDescription("Authentic events, by provider, event type and state (accepted, or where the first one stands)."))
	m.refused, errs[1] = meter.Int64Counter("holdfast_requests_refused_total",
		metric.WithDescription("Requests that were refused, by provider and reason."))
	m.latency, errs[2] = meter.Float64Histogram("holdfast_ack_duration_seconds", metric.WithUnit("s"),
		metric.WithDescription("Time from a request's arrival to its answer, by provider and outcome."))
	m.inflight, errs[3] = meter.Int64UpDownCounter("holdfast_requests_inflight",
		metric.WithDescription("Requests that are being handled."))
	m.answers, errs[4] = meter.Int64Counter("holdfast_questions_answered_total",
		metric.WithDescription("Events whose sender waited for an answer, by provider and who gave it (handler, fallback, nobody)."))
	m.spools, errs[5] = meter.Int64Counter("holdfast_events_spooled_total",
		metric.WithDescription("Events that were committed to the inbox because Temporal was down, busy, slow or had failed (reason)."))
	for _, e := range errs {
		if e != nil {
			return m, e
		}
	}
	return m, nil
}

func (m requestMetrics) answered(o *observation, took time.Duration) {
	provider := attribute.String("provider", o.provider)
	m.latency.Record(o.ctx, took.Seconds(), metric.WithAttributes(provider, attribute.String("outcome", o.outcome)))
	if o.outcome == outcomeRefused {
		m.refused.Add(o.ctx, 1, metric.WithAttributes(provider, attribute.String("reason", o.reason)))
	}
}

func (m requestMetrics) questionAnswered(ctx context.Context, provider, by string) {
	m.answers.Add(ctx, 1, metric.WithAttributes(attribute.String("provider", provider), attribute.String("by", by)))
}

func (m requestMetrics) spooled(ctx context.Context, provider, reason string) {
	m.spools.Add(ctx, 1, metric.WithAttributes(attribute.String("provider", provider), attribute.String("reason", reason)))
}

func (s *Server) countEvents(ctx context.Context, p *providers.Provider, receipts []event.Receipt, started []Started) {
	for i, e := range started {
		s.metrics.events.Add(ctx, 1, metric.WithAttributes(
			attribute.String("provider", p.Name()),
			attribute.String("event_type", receipts[i].Type),
			attribute.String("state", string(e.State)),
		))
	}
}
