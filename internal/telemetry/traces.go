package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// newTracerProvider leaves sampling to OTEL_TRACES_SAMPLER. If nothing is exported, spans record nothing: they only have IDs,
// which cost little and connect log lines.
func newTracerProvider(ctx context.Context, res *resource.Resource, export bool) (*trace.TracerProvider, error) {
	if !export {
		return trace.NewTracerProvider(trace.WithResource(res), trace.WithSampler(trace.NeverSample())), nil
	}
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("make exporter of traces: %w", err)
	}
	// The batcher's queue is bounded and never blocks: a back end that doesn't answer costs spans, not requests.
	return trace.NewTracerProvider(trace.WithResource(res), trace.WithBatcher(exporter)), nil
}
