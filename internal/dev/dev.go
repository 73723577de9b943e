package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"holdfast/internal/config"
	"holdfast/internal/devstack"
	"holdfast/internal/installation"
	"holdfast/internal/process"
	"holdfast/workflows"
)

// devStopLimit bounds the orderly end of the servers that the dev stack has started.
const devStopLimit = 30 * time.Second

// devStack is what `holdfast dev` starts where the environment names none.
type devStack struct {
	claimed  *devstack.Claimed
	postgres *devstack.Postgres
	temporal *devstack.Temporal
}

// Run starts what is missing, prepares it, runs every role on it, and stops all of it when the context ends.
func Run(parent context.Context, cfg config.Config, out io.Writer) (err error) {
	installation.SetLogger(config.Log{Level: cfg.Log.Level, Format: config.LogText}, os.Stderr)
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)

	stack := &devStack{}
	defer func() { err = errors.Join(err, stack.stop()) }()
	if err := stack.start(ctx, cfg, out); err != nil {
		return err
	}
	if cfg, err = stack.configure(cfg); err != nil {
		return err
	}
	if err := installation.Prepare(ctx, cfg); err != nil {
		return err
	}
	fmt.Fprintln(out, installation.UpToDate)
	go stack.watch(cancel)
	err = process.Run(ctx, cfg, "dev", process.RoleIngress|process.RoleWorker|process.RoleOperator,
		func() { stack.welcome(out, cfg) })
	if cause := context.Cause(ctx); err == nil && parent.Err() == nil {
		return cause
	}
	return err
}

// start claims the directory, looks whether the ports are free, and starts both servers at the same time.
func (s *devStack) start(ctx context.Context, cfg config.Config, out io.Writer) (err error) {
	if s.claimed, err = devstack.Claim(ctx, cfg.Dev.Dir); err != nil {
		return err
	}
	if err := devstack.CheckPorts(devPorts(cfg)...); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	if !cfg.Database.URL.IsSet() {
		fmt.Fprintln(out, "starting PostgreSQL …")
		group.Go(func() (err error) { s.postgres, err = startPostgres(ctx, cfg, s.claimed.Dir); return err })
	}
	if cfg.Temporal.Address == "" {
		fmt.Fprintln(out, "starting Temporal …")
		group.Go(func() (err error) { s.temporal, err = startTemporal(ctx, cfg, s.claimed.Dir); return err })
	}
	return group.Wait()
}

func startPostgres(ctx context.Context, cfg config.Config, dir string) (*devstack.Postgres, error) {
	return devstack.StartPostgres(ctx, devstack.PostgresOptions{
		Dir:      filepath.Join(dir, devstack.PostgresDir),
		Port:     int(cfg.Dev.PostgresPort),
		Database: "holdfast",
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
			workflows.SearchProvider: "Keyword", workflows.SearchEventType: "Keyword",
		},
	}
	if cfg.Payloads.Keys.IsSet() {
		options.CodecEndpoint = "http://" + cfg.Operator.Addr + "/codec"
	}
	return devstack.StartTemporal(ctx, options)
}

// configure points the configuration at what was started, and writes it down for the tools.
func (s *devStack) configure(cfg config.Config) (config.Config, error) {
	given, err := devSecrets(s.claimed.Dir, cfg)
	if err != nil {
		return cfg, err
	}
	given["HOLDFAST_LOG_FORMAT"] = string(config.LogText)
	given["HOLDFAST_INGRESS_ADDR"] = cfg.Ingress.Addr
	given["HOLDFAST_INGRESS_PUBLIC_URL"] = "http://" + cfg.Ingress.Addr // for the schemes that sign it
	if s.postgres != nil {
		given["DATABASE_URL"] = s.postgres.URL("holdfast")
	}
	if s.temporal != nil {
		given["TEMPORAL_ADDRESS"] = s.temporal.Address()
		given["HOLDFAST_OPERATOR_TEMPORAL_WEB"] = fmt.Sprintf("%s,http://localhost:%d", s.temporal.UIURL(), cfg.Dev.TemporalUIPort)
	}
	if cfg.Payloads.Keys.IsSet() { // for the tools, which start runs as well
		given["HOLDFAST_PAYLOAD_KEYS"] = strings.Join(strings.Fields(cfg.Payloads.Keys.Reveal()), ",")
	}
	return config.LoadForDev(s.claimed.Dir, given)
}

// watch ends everything when a server has ended for good, which is after its restarts have failed.
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

// stop ends the servers in the order in which they depend on each other.
func (s *devStack) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), devStopLimit)
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

func (s *devStack) welcome(out io.Writer, cfg config.Config) {
	fmt.Fprintf(out, "\nHoldfast is running.\n\n")
	fmt.Fprintf(out, "  webhooks      http://%s/webhooks/{provider}\n", cfg.Ingress.Addr)
	fmt.Fprintf(out, "  operators     http://%s  (/healthz /readyz /metrics)\n", cfg.Operator.Addr)
	if s.temporal != nil {
		fmt.Fprintf(out, "  Temporal Web  %s\n", s.temporal.UIURL())
	}
	if s.postgres != nil {
		fmt.Fprintf(out, "  database      %s\n", s.postgres.URL("holdfast"))
	}
	fmt.Fprintf(out, "\nTry it, in a second terminal:\n\n  %s send stripe customer.updated\n\n", os.Args[0])
	fmt.Fprint(out, "Ctrl-C ends everything.\n\n")
}
