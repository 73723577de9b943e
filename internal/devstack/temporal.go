package devstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"holdfast/internal/devstack/child"
)

// TemporalOptions configure the Temporal dev server.
type TemporalOptions struct {
	// Binary is the temporal program, see [FindTemporal].
	Binary string
	// Dir holds the server's log and its pid file. It is created if missing.
	Dir string
	// DBFile is the SQLite file with the workflows; "" keeps them in memory until the server ends.
	DBFile string
	// Port of the frontend on 127.0.0.1; 0 picks a free one.
	Port int
	// UIPort of Temporal Web on 127.0.0.1; 0 starts none.
	UIPort int
	// CodecEndpoint decrypts payloads for pages of Temporal Web; "" for none.
	CodecEndpoint string
	// Namespace is created if it doesn't exist; "" is "default".
	Namespace string
	// SearchAttributes are as in [Namespace].
	SearchAttributes map[string]string
	// DynamicConfig holds JSON values by key: a string needs its own quotes.
	DynamicConfig map[string]string
	// Log receives restarts; nil means slog.Default(). The server's own log is Dir/temporal.log.
	Log *slog.Logger
}

// Temporal is a running Temporal dev server.
type Temporal struct {
	options TemporalOptions
	child   *child.Supervisor
}

// StartTemporal starts a dev server and returns when its frontend is healthy, its namespace answers and queries by its search
// attributes work. The context bounds the start only. StartTemporal first ends a server that an earlier run left behind over the
// same directory; nothing else may use the directory at the same time (see [Claim]).
func StartTemporal(ctx context.Context, opts TemporalOptions) (*Temporal, error) {
	t, err := prepareTemporal(opts)
	if err != nil {
		return nil, fmt.Errorf("prepare Temporal: %w", err)
	}
	t.child = &child.Supervisor{
		Name:       "Temporal",
		Command:    t.command,
		Clean:      t.clean,
		Ready:      t.namespace().Ready,
		StopSignal: syscall.SIGTERM,
		Log:        t.options.Log,
		Started:    func(cmd *exec.Cmd) error { return writePID(t.pidFile(), cmd) },
		Port:       t.options.Port,
	}
	if err := t.child.Start(ctx); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, child.LogTail(t.logFile()))
	}
	if err := t.markComplete(); err != nil {
		return nil, errors.Join(err, t.Stop(ctx))
	}
	return t, nil
}

func prepareTemporal(opts TemporalOptions) (*Temporal, error) {
	var err error
	if opts.Dir, err = child.MakeDir(opts.Dir, child.PrivateDir); err != nil {
		return nil, err
	}
	if opts.DBFile != "" {
		if opts.DBFile, err = filepath.Abs(opts.DBFile); err != nil {
			return nil, err
		}
	}
	if opts.Binary, err = exec.LookPath(opts.Binary); err != nil {
		return nil, err
	}
	if opts.Port == 0 {
		if opts.Port, err = child.FreePort(); err != nil {
			return nil, err
		}
	}
	opts.Namespace = cmp.Or(opts.Namespace, "default")
	opts.Log = cmp.Or(opts.Log, slog.Default())
	return &Temporal{options: opts}, nil
}

// Address returns the frontend's host:port.
func (t *Temporal) Address() string {
	return net.JoinHostPort(child.Loopback, strconv.Itoa(t.options.Port))
}

// Port returns the frontend's port on 127.0.0.1; it stays the same over restarts.
func (t *Temporal) Port() int { return t.options.Port }

// Ping returns nil if the server is healthy and its namespace answers.
func (t *Temporal) Ping(ctx context.Context) error { return t.namespace().Ping(ctx) }

func (t *Temporal) namespace() Namespace {
	return Namespace{Address: t.Address(), Name: t.options.Namespace, SearchAttributes: t.options.SearchAttributes}
}

// Namespace returns the namespace that the server was started with.
func (t *Temporal) Namespace() string { return t.options.Namespace }

// UIURL returns the address of Temporal Web, or "" if it doesn't run.
func (t *Temporal) UIURL() string {
	if t.options.UIPort == 0 {
		return ""
	}
	return "http://" + net.JoinHostPort(child.Loopback, strconv.Itoa(t.options.UIPort))
}

// PID returns the process ID of the running server.
func (t *Temporal) PID() int { return t.child.PID() }

// Stop stops the server. If the context ends first, it kills the server and returns an error.
func (t *Temporal) Stop(ctx context.Context) error {
	err := t.child.Stop(ctx)
	_ = os.Remove(t.pidFile()) // a leftover one is checked before use
	return err
}

// Done returns a channel that is closed when the server has ended permanently: after Stop, or after too many failed restarts
// (see Err).
func (t *Temporal) Done() <-chan struct{} { return t.child.Done() }

// Err returns why the server ended without Stop; nil before Done is closed.
func (t *Temporal) Err() error { return t.child.Failure() }

func (t *Temporal) command() *exec.Cmd {
	cmd := exec.Command(t.options.Binary, t.arguments()...)
	// Variables such as TEMPORAL_ADDRESS configure the program as a client. The server checks its maker's site for newer versions
	// unless that is disabled.
	cmd.Env = append(child.EnvironWithout("TEMPORAL_"), "TEMPORAL_VERSION_CHECK_DISABLED=1")
	child.LogTo(cmd, t.logFile())
	child.Prepare(cmd, syscall.SIGTERM, nil)
	return cmd
}

func (t *Temporal) arguments() []string {
	args := []string{
		"server", "start-dev", "--ip", child.Loopback, "--port", strconv.Itoa(t.options.Port),
		"--namespace", t.options.Namespace, "--color", "never",
		"--log-level", "error", // its warnings don't concern its users
	}
	if t.options.UIPort == 0 {
		args = append(args, "--headless")
	} else {
		args = append(args, "--ui-port", strconv.Itoa(t.options.UIPort))
		if t.options.CodecEndpoint != "" {
			args = append(args, "--ui-codec-endpoint", t.options.CodecEndpoint)
		}
	}
	if t.options.DBFile != "" {
		args = append(args, "--db-filename", t.options.DBFile)
	}
	for name, kind := range t.options.SearchAttributes {
		args = append(args, "--search-attribute", name+"="+kind)
	}
	// Temporal allows IDs of 1000 bytes, but PostgreSQL's visibility store has columns of 255: be as strict here.
	if _, chosen := t.options.DynamicConfig["limit.maxIDLength"]; !chosen {
		args = append(args, "--dynamic-config-value", "limit.maxIDLength=255")
	}
	for key, value := range t.options.DynamicConfig {
		args = append(args, "--dynamic-config-value", key+"="+value)
	}
	return args
}

// clean ends a server that an earlier run left behind.
func (t *Temporal) clean(ctx context.Context) error {
	if err := endTemporal(ctx, t.pidFile()); err != nil {
		return err
	}
	return t.dropIncomplete()
}

func (t *Temporal) pidFile() string { return filepath.Join(t.options.Dir, "temporal.pid") }
func (t *Temporal) logFile() string { return filepath.Join(t.options.Dir, "temporal.log") }
