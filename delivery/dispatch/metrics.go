package dispatch

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"holdfast/delivery"
	"holdfast/event/tally"
)

// metrics count attempts and deliveries. No label names a destination: there may be ten thousand.
type metrics struct {
	attempts, resent, deliveries, transitions metric.Int64Counter
	took, waited                              metric.Float64Histogram
}

func newMetrics() (m metrics, err error) {
	meter := otel.Meter("holdfast/delivery")
	var errs [6]error
	m.attempts, errs[0] = meter.Int64Counter("holdfast_delivery_attempts_total",
		metric.WithDescription("Attempts of deliveries, by kind of destination, outcome and code."))
	m.deliveries, errs[1] = meter.Int64Counter("holdfast_deliveries_total",
		metric.WithDescription("Deliveries that have ended, by kind of destination, outcome and code."))
	m.transitions, errs[2] = meter.Int64Counter("holdfast_breaker_transitions_total",
		metric.WithDescription("State changes of breakers, by the new state."))
	m.took, errs[3] = meter.Float64Histogram("holdfast_delivery_attempt_duration_seconds", metric.WithUnit("s"),
		metric.WithDescription("Time of one attempt, by kind of destination and outcome."))
	m.waited, errs[4] = meter.Float64Histogram("holdfast_delivery_duration_seconds", metric.WithUnit("s"),
		metric.WithDescription("From the commit of a delivery to the end of its last attempt, by kind of destination and outcome."))
	m.resent, errs[5] = meter.Int64Counter("holdfast_delivery_resent_total",
		metric.WithDescription("Requests sent once more in one attempt, because the endpoint was closing a kept connection."))
	return m, errors.Join(errs[:]...)
}

func (m metrics) record(ctx context.Context, d delivery.Destination, s delivery.Outcome) {
	kind, outcome, code := kindOf(d), outcomeOf(s.Kind), classOfCode(s.Code)
	m.attempts.Add(ctx, 1, tally.Labels("kind", kind, "outcome", outcome, "code", code))
	if s.Resent {
		m.resent.Add(ctx, 1, tally.Labels("kind", kind, "outcome", outcome))
	}
	m.took.Record(ctx, s.Took.Seconds(), tally.Labels("kind", kind, "outcome", outcome))
	switch {
	case s.Kind == delivery.OK:
		outcome = string(delivery.Delivered)
	case s.Dead:
		outcome = string(delivery.Failed)
	default:
		return
	}
	m.deliveries.Add(ctx, 1, tally.Labels("kind", kind, "outcome", outcome, "code", code))
	m.waited.Record(ctx, time.Since(s.QueuedAt).Seconds(), tally.Labels("kind", kind, "outcome", outcome))
}

func (m metrics) transitioned(t delivery.Transition) {
	m.transitions.Add(context.Background(), 1, tally.Labels("breaker", string(t.To)))
}

func kindOf(d delivery.Destination) string { return cmp.Or(d.Kind(), delivery.KindHTTP) }

func outcomeOf(k delivery.Kind) string {
	return [...]string{
		delivery.OK: "ok", delivery.Bad: "bad", delivery.Slow: "slow", delivery.Final: "final", delivery.Gone: "gone",
		delivery.Ours: "ours", delivery.Busy: "busy", delivery.Blocked: "blocked",
		delivery.Missing: "missing",
	}[k]
}

// classOfCode turns an HTTP status into "5xx", so that endpoints can't create series.
func classOfCode(code string) string {
	if len(code) == 3 && '1' <= code[0] && code[0] <= '9' {
		return code[:1] + "xx"
	}
	return code
}
