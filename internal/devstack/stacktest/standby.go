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
	s.port, err = child.FreePort()
	if err == nil {
		err = CopyPrimary(t.Context(), c.server, filepath.Join(c.dir, "postgres"), filepath.Join(s.dir, "postgres"), s.name())
	}
	if err != nil {
		t.Fatalf("copy the cluster for a standby: %v", err)
	}
	if err := s.Start(); err != nil {
		t.Fatalf("start a standby for the test: %v", err)
	}
	return s
}

// CopyPrimary makes the directory of a standby that devstack.StartPostgres then starts: a copy of the primary's data, with its
// roles and the position to stream from. name is the standby's in synchronous_standby_names.
func CopyPrimary(ctx context.Context, primary *devstack.Postgres, primaryDir, dir, name string) error {
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(dir, child.PassableDir); err != nil {
		return err
	}
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	url, err := url.Parse(primary.URL("postgres"))
	if err != nil {
		return err
	}
	password, _ := url.User.Password()
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte(password), 0o600); err != nil {
		return err
	}
	var owner syscall.Stat_t
	if err := syscall.Stat(filepath.Join(primaryDir, "data"), &owner); err != nil {
		return err
	}
	if err := os.Chown(data, int(owner.Uid), int(owner.Gid)); err != nil {
		return err
	}
	program := primary.Program(ctx, "pg_basebackup", "-D", data, "-d", url.String()+"&application_name="+name,
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
