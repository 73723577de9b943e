package ingress

import (
	"context"
	"errors"
	"strconv"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"holdfast/event"
	"holdfast/event/eventtype"
	"holdfast/event/tally"
	"holdfast/ingress/intake"
	"holdfast/providers"
	"holdfast/workflows/runs"
)

// requestMetrics count requests and their answers. Their labels come from definitions and from this package, never from an
// unauthenticated request.
type requestMetrics struct {
	events  metric.Int64Counter
	refused metric.Int64Counter
	latency metric.Float64Histogram
	answers metric.Int64Counter
	types   metric.Int64Counter
}

func newRequestMetrics() (m requestMetrics, err error) {
	meter := otel.Meter("holdfast/ingress")
	var errs [5]error
	m.events, errs[0] = meter.Int64Counter("holdfast_events_received_total",
		metric.WithDescription("Authentic events, by provider, type, state (accepted, or where the first one stands) and duplicate."))
	m.refused, errs[1] = meter.Int64Counter("holdfast_requests_refused_total",
		metric.WithDescription("Requests that were refused, by provider and reason."))
	m.latency, errs[2] = meter.Float64Histogram("holdfast_ack_duration_seconds", metric.WithUnit("s"),
		metric.WithDescription("Time from a request's arrival to its answer, by provider and outcome."))
	m.answers, errs[3] = meter.Int64Counter("holdfast_questions_answered_total",
		metric.WithDescription("Events whose sender waited for an answer, by provider and who gave it (handler, fallback, nobody)."))
	m.types, errs[4] = meter.Int64Counter("holdfast_event_types_checked_total",
		metric.WithDescription("Published events that were checked, by declared type and result (valid, warned, refused)."))
	return m, errors.Join(errs[:]...)
}

// typeChecked counts by declared types only: their number is bounded.
func (m requestMetrics) typeChecked(ctx context.Context, r eventtype.Result) {
	if r.Check == eventtype.CheckOff {
		return
	}
	result := "valid"
	switch {
	case r.IsRefused():
		result = "refused"
	case len(r.Violations) > 0:
		result = "warned"
	}
	m.types.Add(ctx, 1, tally.Labels("event_type", r.Type, "result", result))
}

// observeNow registers gauges that are computed when metrics are collected: requests in flight, the latency of the last minute,
// and the memory of bodies.
func (s *Server) observeNow() error {
	meter := otel.Meter("holdfast/ingress")
	_, first := meter.Int64ObservableUpDownCounter("holdfast_requests_inflight",
		metric.WithDescription("Requests that are being handled."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(s.inflight.Load())
			return nil
		}))
	_, second := meter.Float64ObservableGauge("holdfast_ack_last_minute_seconds", metric.WithUnit("s"),
		metric.WithDescription("How long the answers of the last minute took, by figure (average, p50, p95, p99)."),
		metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			for figure, ms := range s.lastMinute.sum(s.now()).latencies().figures() {
				o.Observe(ms/1000, tally.Labels("figure", figure))
			}
			return nil
		}))
	_, third := meter.Int64ObservableUpDownCounter("holdfast_body_memory_bytes", metric.WithUnit("By"),
		metric.WithDescription("Memory that the bodies of requests hold, of HOLDFAST_INGRESS_BODY_MEMORY."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(int64(s.bodies.Held()))
			return nil
		}))
	return errors.Join(first, second, third)
}

func (m requestMetrics) answered(o *observation, took time.Duration) {
	m.latency.Record(o.ctx, took.Seconds(), tally.Labels("provider", o.provider, "outcome", o.outcome))
	if o.outcome == outcomeRefused {
		m.refused.Add(o.ctx, 1, tally.Labels("provider", o.provider, "reason", o.reason))
	}
}

func (m requestMetrics) questionAnswered(ctx context.Context, provider, by string) {
	m.answers.Add(ctx, 1, tally.Labels("provider", provider, "by", by))
}

// isDuplicate reports whether the event came before. A different event with the same key doesn't count.
func isDuplicate(e runs.Started) bool { return !intake.IsNew(e.State) && e.Conflict == nil }

func (s *Server) countEvents(ctx context.Context, p *providers.Provider, events []event.Received, started []runs.Started) {
	for i, e := range started {
		s.metrics.events.Add(ctx, 1, tally.Labels(
			"provider", p.Name(), "event_type", p.TypeLabel(events[i].Type), "state", string(e.State),
			"duplicate", strconv.FormatBool(isDuplicate(e)),
		))
	}
}
