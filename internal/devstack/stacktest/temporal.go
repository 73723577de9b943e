package stacktest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"holdfast/internal/devstack"
)

// BinaryVariable is the environment variable that names the temporal program for tests. Without it, tests use bin/temporal of
// the repository or a newer one on the PATH.
const BinaryVariable = "HOLDFAST_TEMPORAL_BIN"

// TemporalOptions configure a test's Temporal. The zero value is a server in memory, without Temporal Web.
type TemporalOptions struct {
	// Durable keeps workflows in a file, so that they survive Stop and Start.
	Durable bool
	// UIPort of Temporal Web; 0 for none.
	UIPort int
	// Namespace defaults to "default".
	Namespace string
	// SearchAttributes defaults to Provider and EventType, both Keyword, as in production.
	SearchAttributes map[string]string
	// DynamicConfig holds JSON values by key.
	DynamicConfig map[string]string
	// Own makes StartTemporal start a server even where one is shared.
	Own bool
}

// Promptly makes deletions and lists of runs follow soon. A run is deleted once its other tasks are recorded as done, which by
// default is checked every 30 s. A history counts as long from 4,096 events on, which would take a test minutes.
var Promptly = map[string]string{
	"limit.historyCount.suggestContinueAsNew":      "256",
	"history.transferProcessorUpdateAckInterval":   `"500ms"`,
	"history.visibilityProcessorUpdateAckInterval": `"500ms"`,
}

// A Temporal is a dev server in a temporary directory.
type Temporal struct {
	dir     string
	options devstack.TemporalOptions
	server  *devstack.Temporal // nil if another process has started it, see Share
	shared  devstack.Namespace // of this package, on such a server
}

// NewTemporal starts a dev server that ends with the test.
func NewTemporal(t testing.TB, opts TemporalOptions) *Temporal {
	t.Helper()
	SkipIfShort(t)
	s, err := newTemporal(opts)
	if err != nil {
		t.Fatalf("start a Temporal for the test: %v", err)
	}
	t.Cleanup(s.remove)
	return s
}

// StartTemporal returns the shared dev server, see [Share], with a new namespace, or else starts one that ends when [Main] does.
func StartTemporal(opts TemporalOptions) (*Temporal, error) {
	opts.SearchAttributes = opts.searchAttributes()
	if shared, ok, err := askShared("/temporal"); ok && !opts.Own {
		return sharedTemporal(shared, opts, err)
	}
	s, err := newTemporal(opts)
	if err != nil {
		return nil, err
	}
	StopAtExit(s.remove)
	return s, nil
}

func newTemporal(opts TemporalOptions) (*Temporal, error) {
	binary, err := TemporalBinary()
	if err != nil {
		return nil, err
	}
	dir, err := TempDir("temporal")
	if err != nil {
		return nil, err
	}
	s := &Temporal{dir: dir, options: devstack.TemporalOptions{
		Binary: binary, Dir: dir, UIPort: opts.UIPort, Namespace: opts.Namespace,
		SearchAttributes: opts.searchAttributes(), DynamicConfig: opts.DynamicConfig, Log: quiet,
	}}
	if opts.Durable {
		s.options.DBFile = filepath.Join(dir, "temporal.db")
	}
	if err := s.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func (o TemporalOptions) searchAttributes() map[string]string {
	if o.SearchAttributes == nil {
		return map[string]string{"Provider": "Keyword", "EventType": "Keyword"}
	}
	return o.SearchAttributes
}

func sharedTemporal(shared sharedServer, opts TemporalOptions, err error) (*Temporal, error) {
	if err != nil {
		return nil, err
	}
	s := &Temporal{dir: shared.Dir, shared: devstack.Namespace{
		Address: shared.Address, Name: "test-" + strings.ToLower(rand.Text()), SearchAttributes: opts.SearchAttributes,
	}}
	ctx, cancel := startContext()
	defer cancel()
	c, err := client.NewNamespaceClient(client.Options{HostPort: shared.Address})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	err = c.Register(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: s.shared.Name, WorkflowExecutionRetentionPeriod: durationpb.New(devstack.Retention),
	})
	if err != nil {
		return nil, err
	}
	return s, await(ctx, s.shared.Ready)
}

// Start restarts a stopped server on the same port.
func (s *Temporal) Start() error {
	if s.shared.Address != "" {
		return errShared
	}
	ctx, cancel := startContext()
	defer cancel()
	server, err := devstack.StartTemporal(ctx, s.options)
	if err != nil {
		return err
	}
	s.server = server
	s.options.Port = server.Port()
	return nil
}

// Stop stops the server.
func (s *Temporal) Stop() error {
	if s.shared.Address != "" {
		return errShared
	}
	ctx, cancel := stopContext()
	defer cancel()
	return s.server.Stop(ctx)
}

// Kill kills the server with SIGKILL. The dev stack restarts it; call Await for that.
func (s *Temporal) Kill() error { return s.signal(syscall.SIGKILL) }

// Freeze suspends the server: connections stay open, but nothing is answered. Thaw resumes it.
func (s *Temporal) Freeze() error { return s.signal(syscall.SIGSTOP) }

// Thaw ends a Freeze.
func (s *Temporal) Thaw() error { return s.signal(syscall.SIGCONT) }

func (s *Temporal) signal(signal syscall.Signal) error {
	if s.shared.Address != "" {
		return errShared
	}
	return syscall.Kill(s.server.PID(), signal)
}

// Await returns when the server answers.
func (s *Temporal) Await(ctx context.Context) error { return await(ctx, s.server.Ping) }

// Address returns the frontend's host:port.
func (s *Temporal) Address() string {
	if s.shared.Address != "" {
		return s.shared.Address
	}
	return s.server.Address()
}

// Dir returns the directory of all files that the server writes: its log and, if durable, its data.
func (s *Temporal) Dir() string { return s.dir }

// Namespace returns the namespace that the server was started with, or this package's on a shared one.
func (s *Temporal) Namespace() string {
	if s.shared.Address != "" {
		return s.shared.Name
	}
	return s.server.Namespace()
}

func (s *Temporal) remove() {
	_ = s.Stop() // a kill is fine: the data are deleted anyway
	_ = os.RemoveAll(s.dir)
}

// TemporalBinary returns the path of the temporal program, for tests that also run it as a client.
func TemporalBinary() (string, error) {
	if path := os.Getenv(BinaryVariable); path != "" {
		return path, nil
	}
	root, err := RepositoryRoot()
	if err != nil {
		return "", err
	}
	ctx, cancel := startContext()
	defer cancel()
	path, err := devstack.FindTemporal(ctx, filepath.Join(root, "bin"))
	if err != nil {
		return "", fmt.Errorf("%w (or name one in %s)", err, BinaryVariable)
	}
	return path, nil
}

// RepositoryRoot returns the directory of go.mod, at or above the working directory, which for a test is its package's.
func RepositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod at or above the working directory")
		}
		dir = filepath.Dir(dir)
	}
}

// await calls ask until it returns nil or the context ends.
func await(ctx context.Context, ask func(context.Context) error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return cmp.Or(err, ctx.Err())
		case <-tick.C:
		}
	}
}
