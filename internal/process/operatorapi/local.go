package operatorapi

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/test/bufconn"

	"holdfast/internal/config"
	"holdfast/internal/stores"
	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/persistence"
	"holdfast/providers"
	"holdfast/providers/receiving"
	"holdfast/workflows/runs"
)

// Local is the operator API inside a process that isn't an operator: a command's. It is the same server, behind a listener in
// memory, so every request passes the same checks. Opening it connects to nothing: a request that needs a store that is away
// fails, and others don't.
type Local struct {
	// Client reaches the server under any host name. Token is an admin's: who can read the database's secret can do
	// everything.
	Client *http.Client
	Token  string

	server   *operator.Server
	store    *persistence.Store
	temporal client.Client
	closeAPI func()
}

// OpenLocal opens the API for a caller, whose name the audit log gets.
func OpenLocal(ctx context.Context, cfg config.Config, caller string) (*Local, error) {
	if err := cfg.RequireDatabase(); err != nil {
		return nil, err
	}
	store, err := OpenStore(ctx, cfg, nil)
	if err != nil {
		return nil, err
	}
	temporal, err := stores.NewTemporalClient(cfg, nil, nil)
	if err != nil {
		store.Close()
		return nil, err
	}
	l := &Local{Token: rand.Text(), store: store, temporal: temporal}
	codec := cfg.PayloadCodec()
	load := definitionsOf(cfg)
	side := Side{
		Config: cfg, Catalogue: func() *providers.Live { live, _ := load(); return live },
		Unreadable: func() error { _, err := load(); return err }, Codec: codec, Temporal: temporal,
		Starter: runs.NewStarter(temporal, codec.DataConverter()),
	}
	options := operator.Options{
		ShowsCauses: true,
		Tokens:      access.Tokens{{Name: caller, Role: access.RoleAdmin, Hash: sha256.Sum256([]byte(l.Token))}},
	}
	options.API, l.closeAPI = side.API(store)
	l.server = operator.New(options)
	l.serve()
	return l, nil
}

// definitionsOf loads the definitions when they are first needed, which costs more than most commands. If they can't be loaded,
// it returns the built-in ones with the error.
func definitionsOf(cfg config.Config) func() (*providers.Live, error) {
	return sync.OnceValues(func() (*providers.Live, error) {
		rate := receiving.NewRate(cfg.Providers.Rate.Requests, cfg.Providers.Rate.Per)
		live, err := providers.LoadLive(cfg.Providers.Dir, cfg.Secrets, rate, nil)
		if err != nil {
			slog.Error("providers.unreadable", "error", err) // what isn't built in is unknown then
			live, _ = providers.LoadLive("", cfg.Secrets, rate, nil)
		}
		return live, err
	})
}

// memory is a listener in memory. Its only error means that it is closed, which the server recognizes by net's own error.
type memory struct{ *bufconn.Listener }

func (m memory) Accept() (net.Conn, error) {
	conn, err := m.Listener.Accept()
	if err != nil {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (l *Local) serve() {
	m := memory{bufconn.Listen(64 << 10)}
	l.Client = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return m.DialContext(ctx) },
	}}
	go func() {
		if err := l.server.Serve(m); err != nil {
			slog.Error("operator.failed", "error", err)
		}
	}()
}

// Close ends requests in progress and closes the connections to the stores.
func (l *Local) Close() {
	l.Client.CloseIdleConnections()
	ctx, cancel := context.WithDeadline(context.Background(), time.Now())
	defer cancel()
	_ = l.server.Shutdown(ctx)
	l.closeAPI()
	l.temporal.Close()
	l.store.Close()
}
