package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options identify the process and its exporters.
type Options struct {
	// Service, Version and Instance become the resource attributes service.name, service.version and service.instance.id;
	// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override them.
	Service, Version, Instance string
	// ExportTraces and ExportMetrics enable the exporters that the OTEL_* variables configure. Without them spans still have IDs,
	// which the logs contain, and metrics can still be scraped.
	ExportTraces, ExportMetrics bool
}

// Telemetry is a process's telemetry, started by Start.
//
// Its fields are interfaces, although there is one implementation: the SDK's types are generic, and every package that can reach
// them compiles their methods again, which took seven packages of ours 4 s of CPU each.
type Telemetry struct {
	Traces trace.TracerProvider
	Meters metric.MeterProvider

	registry *prometheus.Registry
	shutdown []func(context.Context) error
	// ending reports that the stores behind the gauges are closed or being closed.
	ending atomic.Bool
}

// Start sets the process up: the global providers of OpenTelemetry, from which every package takes its tracer and meter, a
// propagator, and a registry for Prometheus. It doesn't connect; exporters connect in the background.
func Start(ctx context.Context, o Options) (*Telemetry, error) {
	res, err := newResource(ctx, o)
	if err != nil {
		return nil, err
	}
	traces, err := newTracerProvider(ctx, res, o.ExportTraces)
	if err != nil {
		return nil, err
	}
	registry := newRegistry()
	meters, err := newMeterProvider(ctx, res, registry, o.ExportMetrics)
	if err != nil {
		return nil, errors.Join(err, traces.Shutdown(ctx))
	}
	otel.SetTracerProvider(traces)
	otel.SetMeterProvider(meters)
	otel.SetTextMapPropagator(Propagator())
	return &Telemetry{
		Traces: traces, Meters: meters, registry: registry,
		shutdown: []func(context.Context) error{traces.Shutdown, meters.Shutdown},
	}, nil
}

// Propagator returns W3C trace context only. Baggage would pass a stranger's data on to every call.
func Propagator() propagation.TextMapPropagator { return propagation.TraceContext{} }

// Handler serves the metrics in Prometheus' text format. A metric that can't be gathered doesn't hide the others.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// Shutdown exports the remaining data until ctx ends, and stops the exporters. It leaves out gauges that read a store, because
// stores are closed before.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	t.ending.Store(true)
	var failed []error
	for _, shutdown := range t.shutdown {
		failed = append(failed, shutdown(ctx))
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("shut telemetry down: %w", err)
	}
	return nil
}

func newResource(ctx context.Context, o Options) (*resource.Resource, error) {
	res, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithHost(),
		resource.WithAttributes(
			attribute.String("service.name", o.Service),
			attribute.String("service.version", o.Version),
			attribute.String("service.instance.id", o.Instance),
		),
		resource.WithFromEnv(),
	)
	if err != nil {
		return nil, fmt.Errorf("describe this process: %w", err)
	}
	return res, nil
}

// newTracerProvider leaves sampling to OTEL_TRACES_SAMPLER. If nothing is exported, spans record nothing: they only have IDs,
// which cost little and connect log lines.
func newTracerProvider(ctx context.Context, res *resource.Resource, export bool) (*sdktrace.TracerProvider, error) {
	if !export {
		return sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithSampler(sdktrace.NeverSample())), nil
	}
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("make exporter of traces: %w", err)
	}
	// The batcher's queue is bounded and never blocks: a back end that doesn't answer costs spans, not requests.
	return sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithBatcher(exporter)), nil
}

// quietFor is how long errors of exporters are suppressed after one was logged: while a back end is down they occur every few
// seconds, which must not drown other log lines.
const quietFor = time.Minute

// LogErrors logs export errors, at most one per quietFor.
func LogErrors(logger *slog.Logger) {
	var mu sync.Mutex
	var last time.Time
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(last) >= quietFor {
			last = now
			logger.Warn("telemetry.failed", "error", err)
		}
	}))
}
