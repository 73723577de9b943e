package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
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
	return newLabeled(t.Meters.Meter("holdfast/temporal"), nil, label)
}

// labeled caches handlers with more tags, and instruments: the SDK asks for both for every task. Temporal's own handler builds a
// set of attributes and an instrument each time.
type labeled struct {
	meter  metric.Meter
	tags   map[string]string
	label  func(provider, eventType string) string
	add    []metric.AddOption
	record []metric.RecordOption

	tagged   *lru.Cache[string, *labeled]
	counters byName[client.MetricsCounter]
	gauges   byName[client.MetricsGauge]
	timers   byName[client.MetricsTimer]
}

// maxTagged bounds the cached handlers of a handler.
const maxTagged = maxSeries

func newLabeled(m metric.Meter, tags map[string]string, label func(provider, eventType string) string) *labeled {
	attributes := make([]attribute.KeyValue, 0, len(tags))
	for name, value := range tags {
		attributes = append(attributes, attribute.String(name, value))
	}
	set := metric.WithAttributeSet(attribute.NewSet(attributes...))
	tagged, _ := lru.New[string, *labeled](maxTagged) // the size is valid
	return &labeled{
		meter: m, tags: tags, label: label, add: []metric.AddOption{set}, record: []metric.RecordOption{set}, tagged: tagged,
	}
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
	all := map[string]string{}
	maps.Copy(all, l.tags)
	maps.Copy(all, tags)
	made := newLabeled(l.meter, all, l.label)
	l.tagged.Add(key, made)
	return made
}

// Counter implements client.MetricsHandler.
func (l *labeled) Counter(name string) client.MetricsCounter {
	return l.counters.get(name, func() (client.MetricsCounter, error) {
		c, err := l.meter.Int64Counter(name)
		return counterFunc(func(n int64) { c.Add(context.Background(), n, l.add...) }), err
	})
}

// Gauge implements client.MetricsHandler.
func (l *labeled) Gauge(name string) client.MetricsGauge {
	return l.gauges.get(name, func() (client.MetricsGauge, error) {
		g, err := l.meter.Float64Gauge(name)
		return gaugeFunc(func(v float64) { g.Record(context.Background(), v, l.record...) }), err
	})
}

// Timer implements client.MetricsHandler.
func (l *labeled) Timer(name string) client.MetricsTimer {
	return l.timers.get(name, func() (client.MetricsTimer, error) {
		h, err := l.meter.Float64Histogram(name, metric.WithUnit("s"))
		return timerFunc(func(d time.Duration) { h.Record(context.Background(), d.Seconds(), l.record...) }), err
	})
}

type (
	counterFunc func(int64)
	gaugeFunc   func(float64)
	timerFunc   func(time.Duration)
)

func (f counterFunc) Inc(n int64)          { f(n) }
func (f gaugeFunc) Update(v float64)       { f(v) }
func (f timerFunc) Record(d time.Duration) { f(d) }

// byName keeps instruments. Code bounds the number of their names.
type byName[T any] struct {
	mu   sync.RWMutex
	made map[string]T
}

func (b *byName[T]) get(name string, create func() (T, error)) T {
	b.mu.RLock()
	found, ok := b.made[name]
	b.mu.RUnlock()
	if ok {
		return found
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	created, err := create()
	if err != nil {
		otel.Handle(err) // a task must not fail because of a metric
	}
	if b.made == nil {
		b.made = map[string]T{}
	}
	b.made[name] = created
	return created
}

// TemporalLogger makes the SDK log through logger.
func TemporalLogger(logger *slog.Logger) log.Logger {
	return log.NewStructuredLogger(logger.With("component", "temporal"))
}
