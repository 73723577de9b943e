package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// DatabaseTracer measures each statement, and creates a span for it if its trace is sampled, with its SQL but without its
// parameters. The statements of a batch are one span. Set it as the Tracer of a pgx.ConnConfig.
func (t *Telemetry) DatabaseTracer() pgx.QueryTracer {
	meter := t.Meters.Meter("holdfast/database")
	d := databaseTracer{spans: t.Traces.Tracer("holdfast/database")}
	var errs [2]error
	d.took, errs[0] = meter.Float64Histogram("db.client.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("Time of a statement or a batch of statements, by operation type (query, batch)."))
	d.failures, errs[1] = meter.Int64Counter("db.client.operation.errors",
		metric.WithDescription("Statements and batches that failed, by operation type (query, batch)."))
	if err := errors.Join(errs[:]...); err != nil {
		otel.Handle(err) // a pool must not fail because of a metric
	}
	return d
}

// ObservePool exports the statistics of a connection pool.
func (t *Telemetry) ObservePool(pool *pgxpool.Pool) error {
	if err := otelpgx.RecordStats(pool, otelpgx.WithStatsMeterProvider(t.Meters)); err != nil {
		return fmt.Errorf("observe connection pool: %w", err)
	}
	return nil
}

// databaseTracer implements pgx.QueryTracer and pgx.BatchTracer. otelpgx has a tracer, too, but it creates a span for each
// statement of a batch, for each connection taken from the pool and for each preparation: most spans of an event.
type databaseTracer struct {
	spans    trace.Tracer
	took     metric.Float64Histogram
	failures metric.Int64Counter
}

// operation is a running statement or batch. Its span is nil if its trace isn't sampled.
type operation struct {
	began time.Time
	span  trace.Span
}

type operationKey struct{}

// The labels of all measurements.
var (
	postgresql = attribute.String("db.system.name", "postgresql")
	ofQuery    = metric.WithAttributeSet(attribute.NewSet(postgresql, attribute.String("pgx.operation.type", "query")))
	ofBatch    = metric.WithAttributeSet(attribute.NewSet(postgresql, attribute.String("pgx.operation.type", "batch")))
)

// TraceQueryStart implements pgx.QueryTracer.
func (d databaseTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	o := &operation{began: time.Now()}
	if trace.SpanContextFromContext(ctx).IsSampled() {
		name := firstWord(data.SQL)
		o.span = d.start(ctx, name, data.SQL, attribute.String("db.operation.name", name))
	}
	return context.WithValue(ctx, operationKey{}, o)
}

// TraceQueryEnd implements pgx.QueryTracer.
func (d databaseTracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	if span := d.end(ctx, data.Err, ofQuery); span != nil {
		span.SetAttributes(attribute.Int64("pgx.rows_affected", data.CommandTag.RowsAffected()))
		span.End()
	}
}

// TraceBatchStart implements pgx.BatchTracer.
func (d databaseTracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	o := &operation{began: time.Now()}
	if trace.SpanContextFromContext(ctx).IsSampled() {
		o.span = d.start(ctx, "BATCH", textOf(data.Batch), attribute.Int("db.operation.batch.size", data.Batch.Len()))
	}
	return context.WithValue(ctx, operationKey{}, o)
}

// TraceBatchQuery implements pgx.BatchTracer.
func (databaseTracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (d databaseTracer) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	if span := d.end(ctx, data.Err, ofBatch); span != nil {
		span.End()
	}
}

func (d databaseTracer) start(ctx context.Context, name, text string, more attribute.KeyValue) trace.Span {
	//nolint:spancheck // TraceQueryEnd or TraceBatchEnd ends it
	_, span := d.spans.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(postgresql, attribute.String("db.query.text", text), more))
	return span //nolint:spancheck // as above
}

// end measures an operation and returns its span, with the error if there is one.
func (d databaseTracer) end(ctx context.Context, err error, of metric.MeasurementOption) trace.Span {
	o, ok := ctx.Value(operationKey{}).(*operation)
	if !ok {
		return nil
	}
	d.took.Record(ctx, time.Since(o.began).Seconds(), of)
	if err == nil || errors.Is(err, pgx.ErrNoRows) {
		return o.span
	}
	d.failures.Add(ctx, 1, of)
	if o.span != nil {
		recordError(o.span, withoutValues(err))
	}
	return o.span
}

func recordError(span trace.Span, err error) {
	span.RecordError(err)
	span.SetStatus(codes.Error, err.Error())
	if pg := (*pgconn.PgError)(nil); errors.As(err, &pg) {
		span.SetAttributes(attribute.String("pgx.sql_state", pg.Code))
	}
}

func firstWord(sql string) string {
	sql = strings.TrimSpace(sql)
	if end := strings.IndexAny(sql, " \n\t;"); end >= 0 {
		sql = sql[:end]
	}
	return strings.ToUpper(sql)
}

// textOf joins the statements of a batch. A statement that is repeated appears once.
func textOf(b *pgx.Batch) string {
	texts := make([]string, 0, len(b.QueuedQueries))
	for _, q := range b.QueuedQueries {
		texts = append(texts, strings.TrimSpace(q.SQL))
	}
	return strings.Join(slices.Compact(texts), ";\n")
}

// withoutValues removes the texts of PostgreSQL's errors: they quote refused values.
func withoutValues(err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	return &pgconn.PgError{Severity: pg.Severity, Code: pg.Code, Message: "refused by the database"}
}
