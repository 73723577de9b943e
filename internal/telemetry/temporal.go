package telemetry

import (
	"fmt"
	"log/slog"
	"maps"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.opentelemetry.io/otel"
	"go.temporal.io/sdk/client"
	temporalotel "go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
)

// TemporalInterceptor carries a caller's trace through workflows and activities, without spans for local activities. Set on the
// client's options, it also applies to that client's workers.
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
	return withoutSteps{tracing}, nil
}

// TemporalMetrics adds the SDK's own metrics (temporal_…) to ours. label maps the event types that workflows report, to bound
// their number: workflows have no definitions, and a sender may invent types.
func (t *Telemetry) TemporalMetrics(label func(provider, eventType string) string) client.MetricsHandler {
	return newLabeled(temporalotel.NewMetricsHandler(temporalotel.MetricsHandlerOptions{
		Meter:                t.Meters.Meter("holdfast/temporal"),
		UseMonotonicCounters: true,
		OnError:              otel.Handle, // the default panics
	}), label)
}

// labeled caches the handlers with more tags: the SDK asks for them for every task, and each builds a set of attributes.
type labeled struct {
	client.MetricsHandler

	label  func(provider, eventType string) string
	tagged *lru.Cache[string, *labeled]
}

// maxTagged bounds the cached handlers of a handler.
const maxTagged = 500

func newLabeled(h client.MetricsHandler, label func(provider, eventType string) string) *labeled {
	tagged, _ := lru.New[string, *labeled](maxTagged) // the size is valid
	return &labeled{h, label, tagged}
}

// WithTags implements client.MetricsHandler.
func (l *labeled) WithTags(tags map[string]string) client.MetricsHandler {
	if eventType, ok := tags["event_type"]; ok {
		tags = maps.Clone(tags)
		tags["event_type"] = l.label(tags["provider"], eventType)
	}
	key := seriesKey("", tags)
	if found, ok := l.tagged.Get(key); ok {
		return found
	}
	made := newLabeled(l.MetricsHandler.WithTags(tags), l.label)
	l.tagged.Add(key, made)
	return made
}

// TemporalLogger makes the SDK log through logger.
func TemporalLogger(logger *slog.Logger) log.Logger {
	return log.NewStructuredLogger(logger.With("component", "temporal"))
}
