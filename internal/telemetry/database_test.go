package telemetry

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// PostgreSQL quotes a refused value in its error; a span must not contain it.
func TestSpansOfStatementsCarryNoValues(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewInMemoryExporter()
	tel := &Telemetry{Traces: trace.NewTracerProvider(trace.WithSyncer(spans)), Meters: metric.NewMeterProvider()}
	tracer := tel.DatabaseTracer()

	ctx, parent := tel.Traces.Tracer("test").Start(t.Context(), "persist")
	ctx = tracer.TraceQueryStart(ctx, nil, pgx.TraceQueryStartData{
		SQL: "insert into events (id) values ($1)", Args: []any{"CANARY-argument"},
	})
	tracer.TraceQueryEnd(ctx, nil, pgx.TraceQueryEndData{Err: fmt.Errorf("exec: %w", &pgconn.PgError{
		Severity: "ERROR", Code: "22P02", Message: `invalid input syntax for type uuid: "CANARY-message"`,
		Detail: "Key (id)=(CANARY-detail)",
	})})
	parent.End()

	require.Len(t, spans.GetSpans(), 2)
	query := spans.GetSpans()[0]
	require.NotContains(t, fmt.Sprintf("%+v", query), "CANARY")
	require.Contains(t, fmt.Sprintf("%+v", query.Attributes), "22P02")
	require.Contains(t, fmt.Sprintf("%+v", query.Attributes), "insert into events")
}

// The statements of a batch are sent together and take one time together: one span has the text of all of them.
func TestABatchIsOneSpan(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewInMemoryExporter()
	tel := &Telemetry{Traces: trace.NewTracerProvider(trace.WithSyncer(spans)), Meters: metric.NewMeterProvider()}
	tracer := tel.DatabaseTracer().(databaseTracer)
	b := &pgx.Batch{}
	for _, sql := range []string{"begin", "SELECT 1", "SELECT 1", "\nUPDATE events SET id = $1"} {
		b.Queue(sql, "CANARY-argument")
	}

	ctx, parent := tel.Traces.Tracer("test").Start(t.Context(), "persist")
	ctx = tracer.TraceBatchStart(ctx, nil, pgx.TraceBatchStartData{Batch: b})
	for _, q := range b.QueuedQueries {
		tracer.TraceBatchQuery(ctx, nil, pgx.TraceBatchQueryData{SQL: q.SQL})
	}
	tracer.TraceBatchEnd(ctx, nil, pgx.TraceBatchEndData{})
	parent.End()

	require.Len(t, spans.GetSpans(), 2)
	batch := spans.GetSpans()[0]
	require.Equal(t, "BATCH", batch.Name)
	require.Equal(t, parent.SpanContext().SpanID(), batch.Parent.SpanID())
	require.Contains(t, batch.Attributes, attribute.Int("db.operation.batch.size", 4))
	require.Contains(t, batch.Attributes,
		attribute.String("db.query.text", "begin;\nSELECT 1;\nUPDATE events SET id = $1"))
	require.NotContains(t, fmt.Sprintf("%+v", batch), "CANARY")
}

// In a trace that isn't sampled, and outside of traces, a statement costs its measurement, however many there are in a batch.
func TestStatementsOfNoSampledTraceCostLittle(t *testing.T) {
	tel := &Telemetry{
		Traces: trace.NewTracerProvider(trace.WithSampler(trace.NeverSample())),
		Meters: metric.NewMeterProvider(metric.WithReader(metric.NewManualReader())),
	}
	tracer := tel.DatabaseTracer().(databaseTracer)
	b := &pgx.Batch{}
	for range 20 {
		b.Queue("SELECT 1")
	}
	unsampled, span := tel.Traces.Tracer("test").Start(t.Context(), "persist")
	defer span.End()
	for _, ctx := range []context.Context{t.Context(), unsampled} {
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
			ctx := tracer.TraceBatchStart(ctx, nil, pgx.TraceBatchStartData{Batch: b})
			for _, q := range b.QueuedQueries {
				tracer.TraceBatchQuery(ctx, nil, pgx.TraceBatchQueryData{SQL: q.SQL})
			}
			tracer.TraceBatchEnd(ctx, nil, pgx.TraceBatchEndData{})
		}), 3.0)
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
			tracer.TraceQueryEnd(tracer.TraceQueryStart(ctx, nil, pgx.TraceQueryStartData{SQL: "SELECT 1"}), nil,
				pgx.TraceQueryEndData{})
		}), 3.0)
	}
}

func TestOtherErrorsDoNotChange(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, withoutValues(fmt.Errorf("query: %w", pgx.ErrNoRows)), pgx.ErrNoRows)
	require.NoError(t, withoutValues(nil))
}
