package telemetry

import (
	"context"
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
)

// maxSeries bounds the combinations of attributes of one instrument. Further ones are counted together under
// otel.metric.overflow, so that senders can't fill the memory by inventing values. It allows eight combinations of type and
// result for each of 500 providers: alerts that name a provider need its own series. That many histograms are 20 MB of metrics.
const maxSeries = 4000

// latencyBuckets are in seconds: an acknowledgement takes milliseconds, a failing event minutes and more.
var latencyBuckets = []float64{
	.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60, 600, 3600,
}

// exemplarFilter is the variable of OpenTelemetry that turns exemplars on.
const exemplarFilter = "OTEL_METRICS_EXEMPLAR_FILTER"

func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return registry
}

func newMeterProvider(
	ctx context.Context, res *resource.Resource, registry *prometheus.Registry, export bool,
) (*metric.MeterProvider, error) {
	scrape, err := otelprom.New(otelprom.WithRegisterer(registry), otelprom.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("make exporter for Prometheus: %w", err)
	}
	options := []metric.Option{
		metric.WithResource(res),
		metric.WithReader(scrape),
		metric.WithCardinalityLimit(maxSeries),
		metric.WithView(latencies()),
	}
	if export {
		push, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return nil, fmt.Errorf("make exporter of metrics: %w", err)
		}
		options = append(options, metric.WithReader(push))
	}
	// An exemplar takes as long as the measurement that it belongs to, and Prometheus' text format has none.
	if os.Getenv(exemplarFilter) == "" || !export {
		options = append(options, metric.WithExemplarFilter(exemplar.AlwaysOffFilter))
	}
	return metric.NewMeterProvider(options...), nil
}

// latencies gives every histogram in seconds the same buckets; OpenTelemetry's defaults are for milliseconds.
func latencies() metric.View {
	return metric.NewView(
		metric.Instrument{Kind: metric.InstrumentKindHistogram, Unit: "s"},
		metric.Stream{Aggregation: metric.AggregationExplicitBucketHistogram{Boundaries: latencyBuckets}},
	)
}
