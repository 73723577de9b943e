package stacktest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/devstack"
)

// A Standby is a streaming standby of a Cluster.
type Standby struct {
	dir    string
	server *devstack.Postgres
}

// NewStandby starts a standby of the cluster that ends with the test. Databases that the cluster makes are on it too.
func (c *Cluster) NewStandby(t testing.TB) *Standby {
	t.Helper()
	dir, err := TempDir("standby")
	if err != nil {
		t.Fatalf("make a directory for a standby: %v", err)
	}
	s := &Standby{dir: dir}
	t.Cleanup(s.remove)
	if err := s.start(devstack.PostgresOptions{StandbyOf: c.server}); err != nil {
		t.Fatalf("start a standby for the test: %v", err)
	}
	return s
}

func (s *Standby) start(opts devstack.PostgresOptions) (err error) {
	ctx, cancel := startContext()
	defer cancel()
	opts.Dir, opts.Log = filepath.Join(s.dir, "postgres"), quiet
	opts.Settings = map[string]string{"fsync": "off", "full_page_writes": "off", "max_connections": "400"}
	s.server, err = devstack.StartPostgres(ctx, opts)
	return err
}

// Require makes every commit on the cluster wait for the standby, from now on.
func (c *Cluster) Require(s *Standby) error { return c.requireStandby(s.server.Name()) }

// RequireNone makes no commit wait for a standby any more.
func (c *Cluster) RequireNone() error { return c.requireStandby("") }

func (c *Cluster) requireStandby(name string) error {
	if err := c.exec("ALTER SYSTEM SET synchronous_standby_names = '" + name + "'"); err != nil {
		return err
	}
	return c.exec("SELECT pg_reload_conf()")
}

// Stop shuts the standby down.
func (s *Standby) Stop() error {
	ctx, cancel := stopContext()
	defer cancel()
	return s.server.Stop(ctx)
}

// Promote makes the standby a primary.
func (s *Standby) Promote(ctx context.Context) error { return s.server.Promote(ctx) }

// Start starts a stopped standby again.
func (s *Standby) Start(of *Cluster) error {
	return s.start(devstack.PostgresOptions{StandbyOf: of.server, Port: s.server.Port()})
}

// URL is the connection URL of a database on the standby.
func (s *Standby) URL(database string) string { return s.server.URL(database) }

func (s *Standby) remove() {
	if s.server != nil {
		_ = s.Stop() // the data go anyway
	}
	_ = os.RemoveAll(s.dir)
}
