package stacktest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/devstack"
)

// A Cluster is a PostgreSQL in a temporary directory. It doesn't wait for the disk (fsync is off), so it survives the death of
// its processes, but not of the machine.
type Cluster struct {
	dir      string
	server   *devstack.Postgres // nil if another process has started it, see Share
	shared   *url.URL           // of such a server
	prefix   string             // of the names of its databases; a shared server also has those of other packages
	template string
	settings map[string]string // of the server
	made     atomic.Int64

	mu    sync.Mutex
	admin *pgx.Conn // kept, since to connect takes 10 ms of CPU, and 17 with the race detector
}

// NewCluster starts a PostgreSQL that ends with the test.
func NewCluster(t testing.TB) *Cluster {
	t.Helper()
	return NewClusterWith(t, nil)
}

// NewClusterWith is NewCluster with server parameters.
func NewClusterWith(t testing.TB, settings map[string]string) *Cluster {
	t.Helper()
	SkipIfShort(t)
	c, err := newCluster(settings)
	if err != nil {
		t.Fatalf("start a PostgreSQL for the test: %v", err)
	}
	t.Cleanup(c.remove)
	return c
}

// StartCluster returns the shared PostgreSQL, see [Share], or else starts one that ends when [Main] does.
func StartCluster() (*Cluster, error) {
	if shared, ok, err := askShared("/postgres"); ok {
		return sharedCluster(shared, err)
	}
	c, err := newCluster(nil)
	if err != nil {
		return nil, err
	}
	StopAtExit(c.remove)
	return c, nil
}

func newCluster(settings map[string]string) (*Cluster, error) {
	dir, err := TempDir("postgres")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, prefix: "test", template: "template1", settings: map[string]string{
		// Not synchronous_commit=off, with which an acknowledged commit is lost when the server is killed.
		"fsync": "off", "full_page_writes": "off",
		"max_connections": "400",
	}}
	maps.Copy(c.settings, settings)
	if err := c.start(0); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

func sharedCluster(shared sharedServer, err error) (*Cluster, error) {
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(shared.URL)
	if err != nil {
		return nil, err
	}
	return &Cluster{dir: shared.Dir, shared: base, prefix: "test_" + strings.ToLower(rand.Text()), template: "template1"}, nil
}

func (c *Cluster) start(port int) error {
	ctx, cancel := startContext()
	defer cancel()
	var err error
	c.server, err = devstack.StartPostgres(ctx, devstack.PostgresOptions{
		Dir: filepath.Join(c.dir, "postgres"), Port: port, Settings: c.settings, Log: quiet,
	})
	return err
}

// Template calls migrate to prepare a database that every later Database copies. migrate must close all connections to it before
// it returns.
func (c *Cluster) Template(migrate func(url string) error) error {
	if err := c.Prepare("template", migrate); err != nil {
		return fmt.Errorf("migrate the template: %w", err)
	}
	c.template = c.prefix + "_template"
	return nil
}

// Prepare creates a copy of the template that fill changes, for Copy. fill must close all connections to it before it returns.
func (c *Cluster) Prepare(name string, fill func(url string) error) error {
	name = c.prefix + "_" + name
	if err := c.create(name, c.template); err != nil {
		return err
	}
	if c.shared != nil {
		StopAtExit(func() { c.drop(name) })
	}
	return fill(c.URL(name))
}

// Database creates a database for one test, a copy of the template, and returns its URL. It is dropped when the test ends, even
// with open connections.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	SkipIfShort(t) // c is nil then
	return c.copy(t, c.template)
}

// Copy is like Database, but copies what Prepare has created under this name, which must have no connections.
func (c *Cluster) Copy(t testing.TB, of string) string {
	t.Helper()
	SkipIfShort(t)
	return c.copy(t, c.prefix+"_"+of)
}

func (c *Cluster) copy(t testing.TB, of string) string {
	t.Helper()
	name := fmt.Sprintf("%s_%d", c.prefix, c.made.Add(1))
	if err := c.create(name, of); err != nil {
		t.Fatalf("create a database for the test: %v", err)
	}
	t.Cleanup(func() { c.drop(name) })
	return c.URL(name)
}

func (c *Cluster) drop(name string) {
	_ = c.exec(fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", name)) // the cluster may already be stopped
}

// File returns the path of a file of the data directory, from its path there.
func (c *Cluster) File(path string) string { return filepath.Join(c.dir, "postgres", "data", path) }

// create copies the template's files, in half of the time that it takes to log all of their pages. PostgreSQL 14 always does.
func (c *Cluster) create(name, template string) error {
	return c.connected(func(ctx context.Context, conn *pgx.Conn) error {
		sql := fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", name, template)
		if !strings.HasPrefix(conn.PgConn().ParameterStatus("server_version"), "14") {
			sql += " STRATEGY file_copy"
		}
		_, err := conn.Exec(ctx, sql)
		return err
	})
}

func (c *Cluster) exec(sql string) error {
	return c.connected(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql)
		return err
	})
}

func (c *Cluster) connected(do func(context.Context, *pgx.Conn) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := startContext()
	defer cancel()
	if c.admin == nil || c.admin.Ping(ctx) != nil { // the server may have been stopped
		var err error
		if c.admin, err = pgx.Connect(ctx, c.URL("postgres")); err != nil {
			c.admin = nil
			return err
		}
	}
	return do(ctx, c.admin)
}

// URL returns the connection URL of a database on this cluster, as its superuser.
func (c *Cluster) URL(database string) string {
	if c.shared == nil {
		return c.server.URL(database)
	}
	u := *c.shared
	u.Path = database
	return u.String()
}

// errShared is returned by what a test may do to a server of its own only.
var errShared = errors.New("other packages use this server, too: start one with NewCluster or NewTemporal")

// Stop shuts the server down and closes its connections.
func (c *Cluster) Stop() error {
	if c.shared != nil {
		return errShared
	}
	ctx, cancel := stopContext()
	defer cancel()
	return c.server.Stop(ctx)
}

// Start restarts a stopped server with the same port and data.
func (c *Cluster) Start() error {
	if c.shared != nil {
		return errShared
	}
	return c.start(c.server.Port())
}

// Kill kills the postmaster with SIGKILL. The dev stack restarts it; call Await for that.
func (c *Cluster) Kill() error {
	if c.shared != nil {
		return errShared
	}
	return syscall.Kill(c.server.PID(), syscall.SIGKILL)
}

// Await returns when the server answers.
func (c *Cluster) Await(ctx context.Context) error { return await(ctx, c.server.Ping) }

func (c *Cluster) remove() {
	_ = c.Stop() // a kill is fine: the data are deleted anyway
	_ = os.RemoveAll(c.dir)
}
