package tally

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

func labelsOf(o metric.MeasurementOption) attribute.Set {
	return metric.NewAddConfig([]metric.AddOption{o}).Attributes()
}

func TestLabelsAreTheirPairsWithoutEmptyValues(t *testing.T) {
	t.Parallel()
	want := attribute.NewSet(attribute.String("kind", "http"), attribute.String("outcome", "ok"))
	for range 2 { // the second one is kept
		require.True(t, want.Equals(new(labelsOf(Labels("outcome", "ok", "kind", "http", "code", "")))))
	}
	require.Equal(t, 0, new(labelsOf(Labels())).Len())
}

func TestKeptLabelsAreBounded(t *testing.T) {
	t.Parallel()
	for i := range 2 * maxLabels {
		Labels("provider", fmt.Sprint(i))
	}
	require.LessOrEqual(t, sets.Len(), maxLabels)
}

// Counting with labels that are kept allocates the list of options and their configuration only: building the labels would
// allocate twice as often and three times as much.
func TestCountingCostsLittle(t *testing.T) {
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())).Meter("test")
	counter, err := meter.Int64Counter("events")
	require.NoError(t, err)
	ctx, step := t.Context(), "PersistEvent"
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		counter.Add(ctx, 1, Labels("step", step, "lane", "fast", "outcome", "ok"))
	}), 2.0)
}
