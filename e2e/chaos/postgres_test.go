package chaos

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack"
)

var quiet = slog.New(slog.DiscardHandler)

// postgres is a private PostgreSQL that can be killed and restarted. It doesn't wait for the disk: these tests kill processes,
// not the machine.
type postgres struct {
	options devstack.PostgresOptions
	server  *devstack.Postgres // nil while it is down
	url     func(database string) string
}

func startPostgres(ctx context.Context, dir string, settings map[string]string) (*postgres, error) {
	p := &postgres{options: devstack.PostgresOptions{Dir: dir, Log: quiet, Settings: map[string]string{
		"fsync": "off", "full_page_writes": "off", "max_connections": "300", "shared_buffers": "64MB",
	}}}
	maps.Copy(p.options.Settings, settings)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	err := p.tryStart(ctx)
	return p, err
}

func (p *postgres) tryStart(ctx context.Context) error {
	if p.server != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	server, err := devstack.StartPostgres(ctx, p.options)
	if err != nil {
		return err
	}
	p.server, p.options.Port, p.url = server, server.Port(), server.URL
	return nil
}

// start restarts it, on the same port and data.
func (p *postgres) start(t testing.TB) {
	t.Helper()
	require.NoError(t, p.tryStart(t.Context()))
}

// kill kills the postmaster with SIGKILL.
func (p *postgres) kill() {
	if p.server != nil {
		p.server.End(syscall.SIGKILL)
		p.server = nil
	}
}

// destroy kills it and deletes its data.
func (p *postgres) destroy(t testing.TB) {
	t.Helper()
	p.kill()
	require.NoError(t, os.RemoveAll(filepath.Join(p.options.Dir, "data")))
}

// abort stops it like pg_ctl stop -m immediate.
func (p *postgres) abort() {
	p.server.End(syscall.SIGQUIT)
	p.server = nil
}

// connect returns a superuser connection that ends with the test.
func (p *postgres) connect(t testing.TB, database string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), p.url(database))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// exec runs statements one by one, each in its own transaction.
func (p *postgres) exec(t testing.TB, database string, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, p.url(database))
	require.NoError(t, err)
	defer c.Close(ctx)
	for _, sql := range statements {
		_, err := c.Exec(ctx, sql)
		require.NoError(t, err, sql)
	}
}

// set changes settings of the running server and returns a function that restores them.
func (p *postgres) set(t testing.TB, settings map[string]string) (undo func()) {
	t.Helper()
	var set, reset []string
	for name, value := range settings {
		set = append(set, "ALTER SYSTEM SET "+name+" = "+value)
		reset = append(reset, "ALTER SYSTEM RESET "+name)
	}
	reload := "SELECT pg_reload_conf()"
	p.exec(t, "postgres", append(set, reload)...)
	return func() { p.exec(t, "postgres", append(reset, reload)...) }
}
