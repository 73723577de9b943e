package telemetry

import (
	"context"
	"errors"
	"fmt"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// DatabaseTracer creates a span for each statement, with its SQL but without its parameters. Set it as the Tracer of a
// pgx.ConnConfig.
func (t *Telemetry) DatabaseTracer() pgx.QueryTracer {
	return databaseTracer{otelpgx.NewTracer(
		otelpgx.WithTracerProvider(t.Traces),
		otelpgx.WithMeterProvider(t.Meters),
		otelpgx.WithDisableConnectionDetailsInAttributes(),
	)}
}

// ObservePool exports the statistics of a connection pool.
func (t *Telemetry) ObservePool(pool *pgxpool.Pool) error {
	if err := otelpgx.RecordStats(pool, otelpgx.WithStatsMeterProvider(t.Meters)); err != nil {
		return fmt.Errorf("observe connection pool: %w", err)
	}
	return nil
}

// databaseTracer removes the texts of PostgreSQL's errors from spans: they quote refused values.
type databaseTracer struct{ *otelpgx.Tracer }

func (d databaseTracer) TraceQueryEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryEndData) {
	data.Err = withoutValues(data.Err)
	d.Tracer.TraceQueryEnd(ctx, conn, data)
}

func (d databaseTracer) TraceBatchQuery(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchQueryData) {
	data.Err = withoutValues(data.Err)
	d.Tracer.TraceBatchQuery(ctx, conn, data)
}

func (d databaseTracer) TraceBatchEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchEndData) {
	data.Err = withoutValues(data.Err)
	d.Tracer.TraceBatchEnd(ctx, conn, data)
}

func (d databaseTracer) TraceCopyFromEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceCopyFromEndData) {
	data.Err = withoutValues(data.Err)
	d.Tracer.TraceCopyFromEnd(ctx, conn, data)
}

func (d databaseTracer) TracePrepareEnd(ctx context.Context, conn *pgx.Conn, data pgx.TracePrepareEndData) {
	data.Err = withoutValues(data.Err)
	d.Tracer.TracePrepareEnd(ctx, conn, data)
}

func withoutValues(err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	return &pgconn.PgError{Severity: pg.Severity, Code: pg.Code, Message: "refused by the database"}
}
