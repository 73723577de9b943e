package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"holdfast/internal/config"
	"holdfast/internal/devstack"
	"holdfast/internal/devstack/child"
	"holdfast/internal/process"
	"holdfast/internal/process/operatorapi"
	"holdfast/internal/stores"
	"holdfast/internal/telemetry"
	"holdfast/workflows"
)

// devStopTimeout bounds the orderly shutdown of the dev stack's servers.
const devStopTimeout = 30 * time.Second

// devStack runs the servers that `holdfast dev` starts if the environment names none.
type devStack struct {
	claimed  *devstack.Claimed
	postgres *devstack.Postgres
	temporal *devstack.Temporal
}

// Options are the command's flags.
type Options struct {
	// Verbose logs as configured, and not only warnings.
	Verbose bool
	Demo    Demo
}

// Demo configures a demonstration; its fields may be zero.
type Demo struct {
	// Settings are used for unset variables.
	Settings map[string]string
	// Prepare is called before the roles start, and returns the transport to the APIs of providers.
	Prepare func(context.Context, config.Config) (http.RoundTripper, error)
	// Run is called once the roles run. When it returns, the screen says so, and ends with Hint.
	Run  func(context.Context, config.Config) error
	Hint string
	// Program is the name of holdfast in hints; empty means this program's.
	Program string
}

// Run starts the missing servers, prepares them, runs every role, and stops all of it when the context ends.
func Run(parent context.Context, cfg config.Config, out io.Writer, o Options) (err error) {
	level := cfg.Log.Level
	if !o.Verbose {
		level = max(level, slog.LevelWarn)
	}
	telemetry.SetLogger(level, true, os.Stderr)
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)

	stack := &devStack{}
	defer func() { err = errors.Join(err, stack.stop()) }()
	if err := stack.start(ctx, cfg, out); err != nil {
		return err
	}
	if cfg, err = stack.configure(cfg, o.Demo.Settings); err != nil {
		return err
	}
	cfg.Log.Level = level
	if err := stores.Prepare(ctx, cfg); err != nil {
		return err
	}
	link, tickets, err := operatorapi.Link(cfg.Operator)
	if err != nil {
		return err
	}
	samples, err := startSamples(ctx, stack.claimed.Dir, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, samples.stop()) }()
	own := process.Development{Tickets: tickets, Say: func(line string) { fmt.Fprintln(out, line) }}
	if o.Demo.Prepare != nil {
		if own.APIs, err = o.Demo.Prepare(ctx, cfg); err != nil {
			return err
		}
	}
	go stack.watch(cancel)
	err = process.Run(ctx, cfg, "dev", process.RoleIngress|process.RoleWorker|process.RoleOperator, own, func() {
		if o.Demo.Run != nil {
			if err := o.Demo.Run(ctx, cfg); err != nil {
				cancel(fmt.Errorf("run the demonstration: %w", err))
				return
			}
		}
		stack.welcome(out, cfg, o.Demo, link, samples.url)
	})
	if cause := context.Cause(ctx); err == nil && parent.Err() == nil {
		return cause
	}
	return err
}

// start claims the directory, checks that the ports are free, and starts both servers concurrently.
func (s *devStack) start(ctx context.Context, cfg config.Config, out io.Writer) (err error) {
	if s.claimed, err = devstack.Claim(ctx, cfg.Dev.Dir); err != nil {
		return err
	}
	if err := child.CheckPorts(devPorts(cfg)...); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	if !cfg.Database.URL.IsSet() {
		fmt.Fprintln(out, "starting PostgreSQL …")
		group.Go(func() (err error) { s.postgres, err = startPostgres(ctx, cfg, s.claimed.Dir, out); return err })
	}
	if cfg.Temporal.Address == "" {
		fmt.Fprintln(out, "starting Temporal …")
		group.Go(func() (err error) { s.temporal, err = startTemporal(ctx, cfg, s.claimed.Dir); return err })
	}
	return group.Wait()
}

func startPostgres(ctx context.Context, cfg config.Config, dir string, out io.Writer) (*devstack.Postgres, error) {
	return devstack.StartPostgres(ctx, devstack.PostgresOptions{
		Dir:      filepath.Join(dir, devstack.PostgresDir),
		Port:     int(cfg.Dev.PostgresPort),
		Database: "holdfast",
		Out:      out,
	})
}

func startTemporal(ctx context.Context, cfg config.Config, dir string) (*devstack.Temporal, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	binary, err := devstack.FindTemporal(ctx, filepath.Dir(self))
	if err != nil {
		return nil, err
	}
	options := devstack.TemporalOptions{
		Binary:    binary,
		Dir:       filepath.Join(dir, devstack.TemporalDir),
		DBFile:    filepath.Join(dir, devstack.TemporalDir, "temporal.db"),
		Port:      int(cfg.Dev.TemporalPort),
		UIPort:    int(cfg.Dev.TemporalUIPort),
		Namespace: cfg.Temporal.Namespace,
		SearchAttributes: map[string]string{
			workflows.SearchProvider.GetName(): "Keyword", workflows.SearchEventType.GetName(): "Keyword",
		},
	}
	if cfg.Payloads.Keys.IsSet() || !cfg.Operator.Tokens.IsSet() { // Temporal Web has none of our tokens
		options.CodecEndpoint = "http://" + cfg.Operator.Addr + "/codec"
	}
	return devstack.StartTemporal(ctx, options)
}

// sqliteTimeouts give a Temporal with SQLite more time, so that duplicates are recognized in responses even on a busy
// machine. The variables depend on each other and are set together.
var sqliteTimeouts = map[string]string{
	"HOLDFAST_INGRESS_ACK_BUDGET": "4s", "HOLDFAST_INGRESS_START_TIMEOUT": "6s", "HOLDFAST_INGRESS_HANDLER_BUDGET": "8s",
	"HOLDFAST_INGRESS_SHUTDOWN_GRACE": "10s",
}

// configure points the configuration at the started servers and records it for the tools.
func (s *devStack) configure(cfg config.Config, demo map[string]string) (config.Config, error) {
	given, err := devSecrets(s.claimed.Dir, cfg)
	if err != nil {
		return cfg, err
	}
	given["HOLDFAST_LOG_FORMAT"] = string(config.LogText)
	given["HOLDFAST_INGRESS_ADDR"] = cfg.Ingress.Addr
	given["HOLDFAST_INGRESS_PUBLIC_URL"] = "http://" + cfg.Ingress.Addr // for schemes that sign it
	given["HOLDFAST_DELIVERIES_ALLOWED_NETWORKS"] = "127.0.0.0/8,::1"
	if !cfg.IsSet(slices.Collect(maps.Keys(sqliteTimeouts))...) {
		maps.Copy(given, sqliteTimeouts)
	}
	if s.postgres != nil {
		given["DATABASE_URL"] = s.postgres.URL("holdfast")
	}
	if s.temporal != nil {
		given["TEMPORAL_ADDRESS"] = s.temporal.Address()
		given["HOLDFAST_OPERATOR_TEMPORAL_WEB"] = fmt.Sprintf("%s,http://localhost:%d", s.temporal.UIURL(), cfg.Dev.TemporalUIPort)
	}
	maps.Copy(given, demo)
	if cfg.Providers.Dir != "" { // for the tools, which may run in another folder
		if given["HOLDFAST_PROVIDERS_DIR"], err = filepath.Abs(cfg.Providers.Dir); err != nil {
			return cfg, fmt.Errorf("find folder of definitions: %w", err)
		}
	}
	if cfg.Payloads.Keys.IsSet() { // for the tools, which also start runs
		given["HOLDFAST_PAYLOAD_KEYS"] = strings.Join(strings.Fields(cfg.Payloads.Keys.Reveal()), ",")
	}
	return config.LoadForDev(s.claimed.Dir, given)
}

// watch ends everything when a server has ended permanently, after its restarts have failed.
func (s *devStack) watch(cancel context.CancelCauseFunc) {
	var postgres, temporal <-chan struct{}
	if s.postgres != nil {
		postgres = s.postgres.Done()
	}
	if s.temporal != nil {
		temporal = s.temporal.Done()
	}
	select {
	case <-postgres:
		cancel(s.postgres.Err())
	case <-temporal:
		cancel(s.temporal.Err())
	}
}

// stop stops the servers in the order of their dependencies.
func (s *devStack) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), devStopTimeout)
	defer cancel()
	var failures []error
	if s.temporal != nil {
		failures = append(failures, s.temporal.Stop(ctx))
	}
	if s.postgres != nil {
		failures = append(failures, s.postgres.Stop(ctx))
	}
	if s.claimed != nil {
		s.claimed.Release()
	}
	return errors.Join(failures...)
}
