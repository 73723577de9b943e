package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// DeliveryFigures are the waiting deliveries and the destinations' health.
type DeliveryFigures struct {
	// Waiting and Age are the number of open deliveries and the age of the oldest, by status.
	Waiting map[string]int64
	Age     map[string]time.Duration
	// Breakers and States count destinations.
	Breakers, States map[string]int64
	// Troubled are some failing destinations: the state of the breaker, by name. The caller bounds their number.
	Troubled map[string]string
	// OldestSecret is the age of the secret that was changed least recently; nil without secrets.
	OldestSecret *time.Duration
}

// ObserveDeliveries exports the waiting deliveries. Only failing destinations have their own series: there may be ten thousand
// of the others.
func (t *Telemetry) ObserveDeliveries(read func(context.Context) (DeliveryFigures, error)) error {
	meter := t.Meters.Meter("holdfast/telemetry")
	var errs [6]error
	var waiting, breakers, states, troubled metric.Int64ObservableGauge
	var oldest, secret metric.Float64ObservableGauge
	waiting, errs[0] = meter.Int64ObservableGauge("holdfast_deliveries_open",
		metric.WithDescription("Deliveries that have not ended, by status."))
	oldest, errs[1] = meter.Float64ObservableGauge("holdfast_deliveries_oldest_seconds", metric.WithUnit("s"),
		metric.WithDescription("How long the oldest open delivery has waited, by status."))
	breakers, errs[2] = meter.Int64ObservableGauge("holdfast_destination_breakers",
		metric.WithDescription("Destinations, by the state of their breaker."))
	states, errs[3] = meter.Int64ObservableGauge("holdfast_destination_states",
		metric.WithDescription("Destinations, by what people have decided about them."))
	troubled, errs[4] = meter.Int64ObservableGauge("holdfast_destination_failing",
		metric.WithDescription("1 for each of the 20 destinations that have been failing longest, by name and breaker."))
	secret, errs[5] = meter.Float64ObservableGauge("holdfast_destination_secret_oldest_seconds", metric.WithUnit("s"),
		metric.WithDescription("How long ago the secret of a destination was changed that was changed least recently."))
	if err := errors.Join(errs[:]...); err != nil {
		return fmt.Errorf("observe deliveries: %w", err)
	}
	observe := func(ctx context.Context, o metric.Observer) error {
		if t.ending.Load() {
			return nil
		}
		f, err := read(ctx)
		for status, n := range f.Waiting {
			o.ObserveInt64(waiting, n, by("status", status))
			o.ObserveFloat64(oldest, f.Age[status].Seconds(), by("status", status))
		}
		for state, n := range f.Breakers {
			o.ObserveInt64(breakers, n, by("breaker", state))
		}
		for state, n := range f.States {
			o.ObserveInt64(states, n, by("state", state))
		}
		for name, breaker := range f.Troubled {
			o.ObserveInt64(troubled, 1, by("destination", name), by("breaker", breaker))
		}
		if f.OldestSecret != nil {
			o.ObserveFloat64(secret, f.OldestSecret.Seconds())
		}
		return err
	}
	if _, err := meter.RegisterCallback(observe, waiting, oldest, breakers, states, troubled, secret); err != nil {
		return fmt.Errorf("observe deliveries: %w", err)
	}
	return nil
}

func by(label, value string) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String(label, value))
}
