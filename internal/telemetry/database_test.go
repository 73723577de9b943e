package telemetry

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
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

func TestOtherErrorsDoNotChange(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, withoutValues(fmt.Errorf("query: %w", pgx.ErrNoRows)), pgx.ErrNoRows)
	require.NoError(t, withoutValues(nil))
}
