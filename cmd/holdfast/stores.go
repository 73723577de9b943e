package main

import (
	"context"
	"errors"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"

	"holdfast/internal/config"
	"holdfast/internal/telemetry"
	"holdfast/persistence"
)

// openStore makes the pool; it connects when it is first used.
func (p *process) openStore(ctx context.Context) error {
	store, err := openStore(ctx, p.cfg, p.telemetry)
	if err != nil {
		return err
	}
	p.store = store
	p.onStop("database", func(context.Context) error { store.Close(); return nil })
	return errors.Join(p.telemetry.ObservePool(store.Pool()), p.telemetry.ObserveDeadLetters(store.OpenDeadLetters))
}

func openStore(ctx context.Context, cfg config.Config, t *telemetry.Telemetry) (*persistence.Store, error) {
	if err := cfg.RequireDatabase(); err != nil {
		return nil, err
	}
	c := persistence.Config{
		URL:              cfg.Database.URL.Reveal(),
		MaxConns:         cfg.PoolSize(),
		StatementTimeout: cfg.Database.StatementTimeout,
		LockTimeout:      cfg.Database.LockTimeout,
	}
	if t != nil {
		c.Tracer = t.DatabaseTracer()
	}
	return persistence.Open(ctx, c)
}

// newTemporalClient is lazy: Temporal may be down now, and come and go.
// Its metrics are those of a process with telemetry, and label the types of events; t is nil for a tool.
func newTemporalClient(
	cfg config.Config, t *telemetry.Telemetry, label func(provider, eventType string) string,
) (client.Client, error) {
	options, err := cfg.TemporalOptions()
	if err != nil {
		return nil, err
	}
	// The calls of an event are a few kilobytes: to compress them costs both sides more than the network saves.
	options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	options.Logger = telemetry.TemporalLogger(slog.Default())
	if t != nil {
		tracing, err := t.TemporalInterceptor()
		if err != nil {
			return nil, err
		}
		options.Interceptors = []interceptor.ClientInterceptor{tracing}
		options.MetricsHandler = t.TemporalMetrics(label)
	}
	return client.NewLazyClient(options)
}
