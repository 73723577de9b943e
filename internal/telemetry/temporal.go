package telemetry

import (
	"fmt"
	"log/slog"
	"maps"

	"go.opentelemetry.io/otel"
	"go.temporal.io/sdk/client"
	temporalotel "go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
)

// TemporalInterceptor carries a caller's trace through workflows and activities. Set on the client's options, it also applies to
// that client's workers.
func (t *Telemetry) TemporalInterceptor() (interceptor.ClientInterceptor, error) {
	tracing, err := temporalotel.NewTracingInterceptor(temporalotel.TracerOptions{
		Tracer:            t.Traces.Tracer("holdfast/temporal"),
		TextMapPropagator: Propagator(),
		DisableBaggage:    true,
		// A run started by another tool has no trace of ours, but must run all the same.
		AllowInvalidParentSpans: true,
	})
	if err != nil {
		return nil, fmt.Errorf("make Temporal's tracing interceptor: %w", err)
	}
	return tracing, nil
}

// TemporalMetrics adds the SDK's own metrics (temporal_…) to ours. label maps the event types that workflows report, to bound
// their number: workflows have no definitions, and a sender may invent types.
func (t *Telemetry) TemporalMetrics(label func(provider, eventType string) string) client.MetricsHandler {
	return labeled{temporalotel.NewMetricsHandler(temporalotel.MetricsHandlerOptions{
		Meter:                t.Meters.Meter("holdfast/temporal"),
		UseMonotonicCounters: true,
		OnError:              otel.Handle, // the default panics
	}), label}
}

type labeled struct {
	client.MetricsHandler

	label func(provider, eventType string) string
}

// WithTags implements client.MetricsHandler.
func (l labeled) WithTags(tags map[string]string) client.MetricsHandler {
	if eventType, ok := tags["event_type"]; ok {
		tags = maps.Clone(tags)
		tags["event_type"] = l.label(tags["provider"], eventType)
	}
	return labeled{l.MetricsHandler.WithTags(tags), l.label}
}

// TemporalLogger makes the SDK log through logger.
func TemporalLogger(logger *slog.Logger) log.Logger {
	return log.NewStructuredLogger(logger.With("component", "temporal"))
}
