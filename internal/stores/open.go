package stores

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"

	"holdfast/delivery/handoff"
	"holdfast/internal/config"
	"holdfast/internal/notify"
	"holdfast/internal/telemetry"
	"holdfast/persistence"
)

// InboxConns is the pool of the inbox: two groups being written, one page being drained, one query, cleanup, and the rates that
// processes share. It is a separate pool, so that steps can't delay acknowledgements.
const InboxConns = 6

// OpenStore creates a pool of the configured size, which connects on first use. Tools pass nil as telemetry.
func OpenStore(ctx context.Context, cfg config.Config, t *telemetry.Telemetry) (*persistence.Store, error) {
	if err := cfg.RequireDatabase(); err != nil {
		return nil, err
	}
	c := StoreConfig(cfg)
	c.PlansAtConnect = true
	if t != nil {
		c.Tracer = t.DatabaseTracer()
	}
	return persistence.Open(ctx, c)
}

// StoreConfig returns the configuration that all stores of an installation share. With payload keys, destinations' secrets and
// header values are encrypted.
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

// NewTemporalClient returns a lazy client: Temporal may be down. With telemetry it has metrics, labeled by event type; t is nil
// for a tool.
func NewTemporalClient(
	cfg config.Config, t *telemetry.Telemetry, label func(provider, eventType string) string,
) (client.Client, error) {
	options, err := cfg.TemporalOptions()
	if err != nil {
		return nil, err
	}
	// An event's calls are a few kilobytes: compressing them costs both sides more than the network saves.
	options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, handoff.PlainHeaders())
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

// NewNotifier returns a notifier for the configured channels, of which there may be none.
func NewNotifier(cfg config.Config) (*notify.Notifier, error) {
	notifier, err := notify.New(strings.Fields(cfg.Notify.URLs.Reveal())...)
	if err != nil {
		return nil, fmt.Errorf("HOLDFAST_NOTIFY_URLS: %w", err)
	}
	return notifier, nil
}
