package installation

import (
	"context"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"

	"holdfast/internal/config"
	"holdfast/internal/telemetry"
	"holdfast/persistence"
)

// InboxConns is the pool of the inbox: two groups that are being written, one page that is drained, one look, what is forgotten,
// and the rates that processes share. It is a pool of its own, so that no step keeps an acknowledgement waiting.
const InboxConns = 6

// OpenStore makes the pool of the configured size; it connects when it is first used. A tool gives no telemetry.
func OpenStore(ctx context.Context, cfg config.Config, t *telemetry.Telemetry) (*persistence.Store, error) {
	if err := cfg.RequireDatabase(); err != nil {
		return nil, err
	}
	c := StoreConfig(cfg)
	if t != nil {
		c.Tracer = t.DatabaseTracer()
	}
	return persistence.Open(ctx, c)
}

// StoreConfig is what all stores of an installation have in common. The secrets and header values of destinations are encrypted
// with the payload keys, where there are any.
func StoreConfig(cfg config.Config) persistence.Config {
	c := persistence.Config{
		URL:              cfg.Database.URL.Reveal(),
		MaxConns:         cfg.PoolSize(),
		StatementTimeout: cfg.Database.StatementTimeout,
		LockTimeout:      cfg.Database.LockTimeout,
		Secrets:          cfg.Secrets,
		Reserved:         config.IsReserved,
	}
	if codec := cfg.PayloadCodec(); codec.Encrypts() {
		c.Sealer = codec
	}
	return c
}

// NewTemporalClient is lazy: Temporal may be down now, and come and go.
// Its metrics are those of a process with telemetry, and label the types of events; t is nil for a tool.
func NewTemporalClient(
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
