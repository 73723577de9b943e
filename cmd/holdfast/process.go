package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"holdfast/internal/buildinfo"
	"holdfast/internal/config"
	"holdfast/internal/telemetry"
	"holdfast/operator"
	"holdfast/persistence"
	"holdfast/providers"
)

// process is one running Holdfast: what its roles share, and the order in which all of it ends.
type process struct {
	cfg       config.Config
	telemetry *telemetry.Telemetry
	catalogue *providers.Catalogue
	temporal  client.Client
	store     *persistence.Store
	checks    []operator.Check
	operator  *operator.Server
	stops     []stop
	failed    chan error
}

type stop struct {
	name string
	run  func(context.Context) error
}

// role adds a part to the process: it starts it and puts what ends it on the stack.
type role func(context.Context, *process) error

func roleCommand(name, short string, roles ...role) *cobra.Command {
	return &cobra.Command{
		Use:     name,
		Short:   short,
		GroupID: groupRun,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := config.Load()
			if err != nil {
				return err
			}
			return run(c.Context(), cfg, name, roles...)
		},
	}
}

func serveCommand() *cobra.Command {
	return roleCommand("serve", "Run ingress and workers in one process (eager start)", runOperator, runWorkers, runIngress)
}

func ingressCommand() *cobra.Command {
	return roleCommand("ingress", "Run the public HTTP side only", runOperator, runIngress)
}

func workerCommand() *cobra.Command {
	return roleCommand("worker", "Run workers only", runOperator, runWorkers)
}

func operatorCommand() *cobra.Command {
	return roleCommand("operator", "Run the private HTTP side only", runOperator, needStore)
}

// run starts the roles in their order and, when the context ends, stops them in the reverse one.
func run(ctx context.Context, cfg config.Config, name string, roles ...role) error {
	p, err := newProcess(ctx, cfg, name)
	if err != nil {
		return err
	}
	for _, start := range roles {
		if err := start(ctx, p); err != nil {
			return errors.Join(err, p.stop())
		}
	}
	slog.InfoContext(ctx, "process.started", "role", name, "version", buildinfo.Version())
	select {
	case <-ctx.Done():
	case err = <-p.failed:
	}
	slog.Info("process.stopping", "role", name)
	return errors.Join(err, p.stop())
}

func newProcess(ctx context.Context, cfg config.Config, name string) (*process, error) {
	host, _ := os.Hostname()
	t, err := telemetry.Start(ctx, telemetry.Options{
		Service:  "holdfast-" + name,
		Version:  buildinfo.Version(),
		Instance: fmt.Sprintf("%s-%d", host, os.Getpid()),
	})
	if err != nil {
		return nil, err
	}
	p := &process{cfg: cfg, telemetry: t, failed: make(chan error, 8)}
	p.onStop("telemetry", t.Shutdown)
	slog.SetDefault(slog.New(t.LogHandler(logHandler(cfg.Log))))
	if p.catalogue, err = providers.Load(cfg.Providers.Dir, cfg.Secrets); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	if p.temporal, err = newTemporalClient(cfg, t); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	p.onStop("Temporal client", func(context.Context) error { p.temporal.Close(); return nil })
	return p, nil
}

func logHandler(cfg config.Log) slog.Handler {
	options := &slog.HandlerOptions{Level: cfg.Level}
	if cfg.Format == config.LogText {
		return slog.NewTextHandler(os.Stderr, options)
	}
	return slog.NewJSONHandler(os.Stderr, options)
}

func (p *process) onStop(name string, run func(context.Context) error) {
	p.stops = append(p.stops, stop{name, run})
}

// stopLimit bounds the end of the whole process, beyond the grace that each part has of its own.
const stopLimit = 15 * time.Second

// stop ends the parts, the one that started last first.
func (p *process) stop() error {
	limit := p.cfg.Ingress.DrainDelay + p.cfg.Ingress.ShutdownGrace + p.cfg.Worker.Grace + stopLimit
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if p.operator != nil {
		p.operator.Drain()
	}
	var failures []error
	for i := len(p.stops) - 1; i >= 0; i-- {
		if err := p.stops[i].run(ctx); err != nil {
			failures = append(failures, fmt.Errorf("stop %s: %w", p.stops[i].name, err))
		}
	}
	return errors.Join(failures...)
}

// serveOn runs a server in the background; its end before the process's is the process's end.
func (p *process) serveOn(name, address string, serve func(net.Listener) error) (net.Addr, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for %s: %w", name, err)
	}
	go func() {
		if err := serve(listener); err != nil {
			p.failed <- fmt.Errorf("serve %s: %w", name, err)
		}
	}()
	return listener.Addr(), nil
}

// waitFor waits, as long as it takes, for something that the process cannot start without: the order in which the parts of
// an installation start must not matter.
func waitFor(ctx context.Context, name string, probe func(context.Context) error) error {
	const patience = 2 * time.Second
	for {
		attempt, cancel := context.WithTimeout(ctx, patience)
		err := probe(attempt)
		cancel()
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		slog.WarnContext(ctx, "process.waiting", "for", name, "error", err.Error())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(patience):
		}
	}
}
