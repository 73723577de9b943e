package telemetry

import (
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel"
	"go.temporal.io/sdk/client"
	temporalotel "go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
)

// TemporalInterceptor carries the trace of a caller through workflows and activities. Set on the client's options, it
// serves the workers of that client as well.
func (t *Telemetry) TemporalInterceptor() (interceptor.ClientInterceptor, error) {
	tracing, err := temporalotel.NewTracingInterceptor(temporalotel.TracerOptions{
		Tracer:            t.Traces.Tracer("holdfast/temporal"),
		TextMapPropagator: Propagator(),
		DisableBaggage:    true,
		// A run that was started by other tools has no trace of ours; it must run all the same.
		AllowInvalidParentSpans: true,
	})
	if err != nil {
		return nil, fmt.Errorf("make Temporal's tracing interceptor: %w", err)
	}
	return tracing, nil
}

// TemporalMetrics are the SDK's own metrics (temporal_…), among ours.
func (t *Telemetry) TemporalMetrics() client.MetricsHandler {
	return temporalotel.NewMetricsHandler(temporalotel.MetricsHandlerOptions{
		Meter:                t.Meters.Meter("holdfast/temporal"),
		UseMonotonicCounters: true,
		OnError:              otel.Handle, // the default panics
	})
}

// TemporalLogger lets the SDK log through logger.
func TemporalLogger(logger *slog.Logger) log.Logger {
	return log.NewStructuredLogger(logger.With("component", "temporal"))
}
