package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Metrics are the instruments of Holdfast itself. docs/telemetry.md says what each of them means. A provider's name is
// an attribute, so callers pass only names that are configured.
type Metrics struct {
	meter      metric.Meter
	received   metric.Int64Counter
	rejected   metric.Int64Counter
	ackTime    metric.Float64Histogram
	inflight   metric.Int64UpDownCounter
	eventTime  metric.Float64Histogram
	stepTime   metric.Float64Histogram
	deadLetter metric.Int64Counter
}

func newMetrics(provider metric.MeterProvider) (*Metrics, error) {
	meter := provider.Meter("holdfast")
	m, errs := &Metrics{meter: meter}, make([]error, 7)
	m.received, errs[0] = meter.Int64Counter("holdfast.events.received",
		metric.WithDescription("Events that were acknowledged, by what became of them at the door."))
	m.rejected, errs[1] = meter.Int64Counter("holdfast.requests.rejected",
		metric.WithDescription("Requests that were refused, by the code of the answer."))
	m.ackTime, errs[2] = meter.Float64Histogram("holdfast.ack.duration", metric.WithUnit("s"),
		metric.WithDescription("Time from the last byte of a request to its answer."))
	m.inflight, errs[3] = meter.Int64UpDownCounter("holdfast.requests.inflight",
		metric.WithDescription("Requests that are being answered."))
	m.eventTime, errs[4] = meter.Float64Histogram("holdfast.event.duration", metric.WithUnit("s"),
		metric.WithDescription("Time from the receipt of an event to the end of its run, by outcome."))
	m.stepTime, errs[5] = meter.Float64Histogram("holdfast.step.duration", metric.WithUnit("s"),
		metric.WithDescription("Time of one execution of a step, by lane and outcome."))
	m.deadLetter, errs[6] = meter.Int64Counter("holdfast.events.dead_lettered",
		metric.WithDescription("Events that became a dead letter, by step and class of the failure."))
	return m, errors.Join(errs...)
}

// EventReceived counts an event that was acknowledged; status is accepted, duplicate or spooled.
func (m *Metrics) EventReceived(ctx context.Context, provider, status string) {
	m.received.Add(ctx, 1, metric.WithAttributes(text("provider", provider), text("status", status)))
}

// RequestRejected counts a request that was refused; code is one of the table of error codes.
func (m *Metrics) RequestRejected(ctx context.Context, provider, code string) {
	m.rejected.Add(ctx, 1, metric.WithAttributes(text("provider", provider), text("code", code)))
}

// RequestStarted counts a request as being answered until the function that it returns is called with the HTTP status.
func (m *Metrics) RequestStarted(ctx context.Context, provider string) (done func(status int)) {
	start := time.Now()
	name := text("provider", provider)
	m.inflight.Add(ctx, 1, metric.WithAttributes(name))
	return func(status int) {
		m.inflight.Add(ctx, -1, metric.WithAttributes(name))
		m.ackTime.Record(ctx, time.Since(start).Seconds(), metric.WithAttributes(name, attribute.Int("code", status)))
	}
}

// EventFinished records the end of an event's run; outcome is processed, ignored, duplicate or dead.
func (m *Metrics) EventFinished(ctx context.Context, provider, outcome string, took time.Duration) {
	m.eventTime.Record(ctx, took.Seconds(), metric.WithAttributes(text("provider", provider), text("outcome", outcome)))
}

// StepFinished records one execution of a step; lane is fast or durable, outcome ok or the class of the failure.
func (m *Metrics) StepFinished(ctx context.Context, step, lane, outcome string, took time.Duration) {
	m.stepTime.Record(ctx, took.Seconds(),
		metric.WithAttributes(text("step", step), text("lane", lane), text("outcome", outcome)))
}

// EventDeadLettered counts a dead letter that was recorded.
func (m *Metrics) EventDeadLettered(ctx context.Context, provider, step, class string) {
	m.deadLetter.Add(ctx, 1,
		metric.WithAttributes(text("provider", provider), text("step", step), text("class", class)))
}

// ObserveDeadLetters asks count, by provider, whenever metrics are collected. An error leaves the gauge out.
func (m *Metrics) ObserveDeadLetters(count func(context.Context) (map[string]int64, error)) error {
	_, err := m.meter.Int64ObservableGauge("holdfast.dead_letters.open",
		metric.WithDescription("Dead letters that wait for somebody."),
		metric.WithInt64Callback(func(ctx context.Context, o metric.Int64Observer) error {
			open, err := count(ctx)
			for provider, n := range open {
				o.Observe(n, metric.WithAttributes(text("provider", provider)))
			}
			return err
		}))
	return err
}

func text(key, value string) attribute.KeyValue { return attribute.String(key, value) }
