package stacktest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/devstack"
)

const templateDatabase = "template_of_tests"

// A Cluster is a PostgreSQL in a temporary directory. It doesn't wait for the disk (fsync is off), so it survives the death of
// its processes, but not of the machine.
type Cluster struct {
	dir      string
	server   *devstack.Postgres
	template string
	made     atomic.Int64
}

// NewCluster starts a PostgreSQL that ends with the test.
func NewCluster(t testing.TB) *Cluster {
	t.Helper()
	SkipIfShort(t)
	c, err := newCluster()
	if err != nil {
		t.Fatalf("start a PostgreSQL for the test: %v", err)
	}
	t.Cleanup(c.remove)
	return c
}

// StartCluster starts a PostgreSQL that ends when [Main] does.
func StartCluster() (*Cluster, error) {
	c, err := newCluster()
	if err != nil {
		return nil, err
	}
	StopAtExit(c.remove)
	return c, nil
}

func newCluster() (*Cluster, error) {
	dir, err := TempDir("postgres")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, template: "template1"}
	if err := c.start(0); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

func (c *Cluster) start(port int) error {
	ctx, cancel := startContext()
	defer cancel()
	var err error
	c.server, err = devstack.StartPostgres(ctx, devstack.PostgresOptions{
		Dir:  filepath.Join(c.dir, "postgres"),
		Port: port,
		Settings: map[string]string{
			// Not synchronous_commit=off, with which an acknowledged commit is lost when the server is killed.
			"fsync": "off", "full_page_writes": "off",
			"max_connections": "400",
		},
		Log: quiet,
	})
	return err
}

// Template calls migrate to prepare a database that every later Database copies. migrate must close all connections to it before
// it returns.
func (c *Cluster) Template(migrate func(url string) error) error {
	ctx, cancel := startContext()
	defer cancel()
	if err := c.server.CreateDatabase(ctx, templateDatabase); err != nil {
		return err
	}
	if err := migrate(c.URL(templateDatabase)); err != nil {
		return fmt.Errorf("migrate the template: %w", err)
	}
	c.template = templateDatabase
	return nil
}

// Prepare creates a copy of the template that fill changes, for Copy. fill must close all connections to it before it returns.
func (c *Cluster) Prepare(name string, fill func(url string) error) error {
	if err := c.exec(fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", name, c.template)); err != nil {
		return err
	}
	return fill(c.URL(name))
}

// Database creates a database for one test, a copy of the template, and returns its URL. It is dropped when the test ends, even
// with open connections.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	SkipIfShort(t) // c is nil then
	return c.Copy(t, c.template)
}

// Copy is like Database, but copies the database with this name, which must have no connections.
func (c *Cluster) Copy(t testing.TB, of string) string {
	t.Helper()
	SkipIfShort(t)
	name := fmt.Sprintf("test_%d", c.made.Add(1))
	if err := c.exec(fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", name, of)); err != nil {
		t.Fatalf("create a database for the test: %v", err)
	}
	t.Cleanup(func() {
		_ = c.exec(fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", name)) // the cluster may already be stopped
	})
	return c.URL(name)
}

// File returns the path of a file of the data directory, from its path there.
func (c *Cluster) File(path string) string { return filepath.Join(c.dir, "postgres", "data", path) }

func (c *Cluster) exec(sql string) error {
	ctx, cancel := startContext()
	defer cancel()
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

// URL returns the connection URL of a database on this cluster, as its superuser.
func (c *Cluster) URL(database string) string { return c.server.URL(database) }

// Stop shuts the server down and closes its connections.
func (c *Cluster) Stop() error {
	ctx, cancel := stopContext()
	defer cancel()
	return c.server.Stop(ctx)
}

// Start restarts a stopped server with the same port and data.
func (c *Cluster) Start() error { return c.start(c.server.Port()) }

// Kill kills the postmaster with SIGKILL. The dev stack restarts it; call Await for that.
func (c *Cluster) Kill() error { return syscall.Kill(c.server.PID(), syscall.SIGKILL) }

// Await returns when the server answers.
func (c *Cluster) Await(ctx context.Context) error { return await(ctx, c.server.Ping) }

func (c *Cluster) remove() {
	_ = c.Stop() // a kill is fine: the data are deleted anyway
	_ = os.RemoveAll(c.dir)
}
