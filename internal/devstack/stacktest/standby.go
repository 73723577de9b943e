package stacktest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/devstack"
	"holdfast/internal/devstack/child"
)

// A Standby is a streaming standby of a Cluster.
type Standby struct {
	dir    string
	port   int
	server *devstack.Postgres // nil until the first start
}

// NewStandby starts a standby of the cluster that ends with the test. It also has the databases created later.
func (c *Cluster) NewStandby(t testing.TB) *Standby {
	t.Helper()
	dir, err := TempDir("standby")
	if err != nil {
		t.Fatalf("make a directory for a standby: %v", err)
	}
	s := &Standby{dir: dir}
	t.Cleanup(s.remove)
	if err := s.copy(t.Context(), c); err != nil {
		t.Fatalf("copy the cluster for a standby: %v", err)
	}
	if err := s.Start(); err != nil {
		t.Fatalf("start a standby for the test: %v", err)
	}
	return s
}

// copy makes the data directory of a standby: a copy of the primary's, with its roles and the position to stream from.
func (s *Standby) copy(ctx context.Context, c *Cluster) (err error) {
	if s.port, err = child.FreePort(); err != nil {
		return err
	}
	own := filepath.Join(s.dir, "postgres")
	data := filepath.Join(own, "data")
	if err := os.MkdirAll(own, child.PassableDir); err != nil {
		return err
	}
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	primary, err := url.Parse(c.URL(""))
	if err != nil {
		return err
	}
	password, _ := primary.User.Password()
	if err := os.WriteFile(filepath.Join(own, "password"), []byte(password), 0o600); err != nil {
		return err
	}
	var owner syscall.Stat_t
	if err := syscall.Stat(filepath.Join(c.dir, "postgres", "data"), &owner); err != nil {
		return err
	}
	if err := os.Chown(data, int(owner.Uid), int(owner.Gid)); err != nil {
		return err
	}
	program := c.server.Program(ctx, "pg_basebackup", "-D", data, "-d", c.URL("postgres")+"&application_name="+s.name(),
		"--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync")
	defer child.CloseLog(program)
	return program.Run()
}

// name returns the standby's name in synchronous_standby_names.
func (s *Standby) name() string { return fmt.Sprintf("standby_%d", s.port) }

// Start restarts the standby after a Stop.
func (s *Standby) Start() (err error) {
	ctx, cancel := startContext()
	defer cancel()
	s.server, err = devstack.StartPostgres(ctx, devstack.PostgresOptions{
		Dir: filepath.Join(s.dir, "postgres"), Port: s.port, Log: quiet,
		Settings: map[string]string{"fsync": "off", "full_page_writes": "off", "max_connections": "400"},
	})
	return err
}

// Require makes every commit on the cluster wait for the standby from now on.
func (c *Cluster) Require(s *Standby) error { return c.requireStandby(s.name()) }

// RequireNone makes commits no longer wait for a standby.
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

// Promote makes the standby a primary, and returns when it accepts writes.
func (s *Standby) Promote(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "SELECT pg_promote()")
	return errors.Join(err, conn.Close(ctx))
}

// URL returns the connection URL of a database on the standby.
func (s *Standby) URL(database string) string { return s.server.URL(database) }

func (s *Standby) remove() {
	if s.server != nil {
		_ = s.Stop() // the data are deleted anyway
	}
	_ = os.RemoveAll(s.dir)
}
