package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"holdfast/delivery/dispatch"
	"holdfast/delivery/webhook"
	"holdfast/ingress"
	"holdfast/ingress/intake"
	"holdfast/ingress/queues"
	"holdfast/internal/buildinfo"
	"holdfast/internal/config"
	"holdfast/internal/notify"
	"holdfast/internal/payloadcodec"
	"holdfast/internal/stores"
	"holdfast/internal/telemetry"
	"holdfast/operator"
	"holdfast/operator/api"
	"holdfast/persistence"
	"holdfast/providers"
	providerapi "holdfast/providers/client"
	"holdfast/providers/reading"
	"holdfast/workflows/runs"
)

// process is a running Holdfast: what its roles share, and what stops them.
type process struct {
	cfg       config.Config
	routes    webhook.Routes
	roles     Roles
	telemetry *telemetry.Telemetry
	catalogue *providers.Live
	secrets   *config.KeptSecrets
	codec     *payloadcodec.Codec
	temporal  client.Client
	store     *persistence.Store // nil if no role needs the database
	side      *persistence.Store // for optional features; nil without a configured database
	errors    errorSink
	notifier  *notify.Notifier
	operator  *operator.Server
	api       *api.API           // nil if it isn't served
	apiStore  *persistence.Store // the API's own
	dev       Development

	duplicates duplicateCounter // nil without a configured database

	refusals    *ingress.Refusals // nil if nothing is received
	queues      *queues.Queues    // nil if nothing is received
	breaker     *intake.Breaker
	inbox       *persistence.Store  // nil without a configured database
	inboxDepth  *intake.InboxDepth  // nil without an inbox
	accepted    *intake.Accepted    // nil without an inbox
	commits     commitProbes        // empty without an ingress
	drain       *intake.Drain       // nil until it runs
	bulkStarter *intake.BulkStarter // nil without workers
	workers     []worker.Worker
	counts      workerCounters       // empty without workers
	apis        *providerapi.Client  // of providers' APIs; nil without workers
	dispatcher  *dispatch.Dispatcher // nil if nothing is delivered
	// closeSenders closes the connections of the dispatcher.
	closeSenders func()
	watched      map[int64]time.Time // when a failing destination last got its workflow

	// reloading is held while definitions are reloaded.
	reloading sync.Mutex

	// started is closed when start has succeeded.
	started chan struct{}
	stops   []stop
	failed  chan error
}

// newProcess creates what the roles share. It doesn't connect yet: stores may be down and come up later.
func newProcess(ctx context.Context, cfg config.Config, name string, roles Roles) (*process, error) {
	p := &process{
		cfg: cfg, routes: stores.Routes(cfg), roles: roles, codec: cfg.PayloadCodec(), failed: make(chan error, 8),
		started: make(chan struct{}), breaker: intake.NewBreaker(cfg.Ingress.MaxStarts),
	}
	if roles.has(RoleIngress) {
		p.refusals = ingress.NewRefusals()
	}
	if err := p.share(ctx, name); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

func (p *process) share(ctx context.Context, name string) (err error) {
	cfg := p.cfg
	lines := telemetry.NewLines(os.Stderr)
	telemetry.SetLogger(cfg.Log.Level, cfg.Log.Format == config.LogText, lines)
	p.onStop("log", flushLog(lines))
	telemetry.LogErrors(slog.Default())
	for _, r := range cfg.Renamed() {
		slog.WarnContext(ctx, "setting.renamed", "former", r.Former, "variable", r.Name)
	}
	if p.telemetry, err = startTelemetry(ctx, cfg, name); err != nil {
		return err
	}
	p.onStop("telemetry", p.telemetry.Shutdown)
	if err = p.telemetry.ObserveLines(lines); err != nil {
		return err
	}
	if err = p.loadDefinitions(); err != nil {
		return err
	}
	if p.notifier, err = stores.NewNotifier(cfg); err != nil {
		return err
	}
	p.reloadOnHangup()
	if p.temporal, err = stores.NewTemporalClient(cfg, p.telemetry, p.typeLabel); err != nil {
		return err
	}
	p.onStop("Temporal client", func(context.Context) error { p.temporal.Close(); return nil })
	return p.observeCertificate()
}

// observeCertificate exports when the client certificate expires, because an expired one disconnects the process from Temporal.
// It is read once, as the client does.
func (p *process) observeCertificate() error {
	end, err := p.cfg.TemporalCertificateEnd()
	if err != nil || end.IsZero() {
		return err
	}
	return p.telemetry.ObserveCertificate("temporal", end)
}

func startTelemetry(ctx context.Context, cfg config.Config, name string) (*telemetry.Telemetry, error) {
	host, _ := os.Hostname() // only a label
	return telemetry.Start(ctx, telemetry.Options{
		Service:       "holdfast-" + name,
		Version:       buildinfo.Read().Version,
		Instance:      fmt.Sprintf("%s-%d", host, os.Getpid()),
		ExportTraces:  cfg.Telemetry.ExportTraces(),
		ExportMetrics: cfg.Telemetry.ExportMetrics(),
	})
}

func (p *process) starter() *runs.Starter {
	s := runs.NewStarter(p.temporal, p.codec.DataConverter())
	s.Eager = !p.cfg.Temporal.Versioned()
	s.SameValue = p.sameValue
	return s
}

// sameValue compares two bodies with the current definition of their provider.
func (p *process) sameValue(ctx context.Context, provider, eventType string, a, b []byte) bool {
	definition, ok := p.catalogue.Lookup(provider)
	return ok && definition.SameValue(ctx, eventType, a, b)
}

// serveOn runs a server in the background. If it ends before the process does, the process ends too.
func (p *process) serveOn(name, address string, serve func(net.Listener) error) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen for %s: %w", name, err)
	}
	slog.Info("process.listening", "for", name, "address", listener.Addr().String())
	go func() {
		if err := serve(listener); err != nil {
			p.failed <- fmt.Errorf("serve %s: %w", name, err)
		}
	}()
	return nil
}

func (p *process) typeLabel(provider, eventType string) string {
	if d, ok := p.catalogue.Lookup(provider); ok {
		return d.TypeLabel(eventType)
	}
	return reading.OtherType
}

// gcPercent makes the heap grow to three times its live size before garbage is collected, instead of Go's default of twice. It
// takes some 25 MiB more and halves the collector's time, which was a sixth of an ACK's.
const gcPercent = 200

// collectLess sets gcPercent, unless the environment sets GOGC.
func collectLess() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
}
