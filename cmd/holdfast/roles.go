package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"holdfast/delivery"
	"holdfast/ingress"
	"holdfast/intake"
	"holdfast/internal/buildinfo"
	"holdfast/internal/config"
	"holdfast/migrations"
	"holdfast/operator"
)

// role is a part that a process can play. Every process has the operator side, for its health and metrics.
type role int

const (
	roleIngress role = 1 << iota
	roleWorker
	roleOperator
)

func (r role) has(other role) bool { return r&other != 0 }

// needsDatabase says whether the roles cannot do without a database. The ingress alone can.
func (r role) needsDatabase() bool { return r.has(roleWorker | roleOperator) }

func serveCommand() *cobra.Command {
	return roleCommand("serve", "Run ingress, workers and operator side in one process", roleIngress|roleWorker|roleOperator)
}

func ingressCommand() *cobra.Command {
	return roleCommand("ingress", "Run the public HTTP side only", roleIngress)
}

func workerCommand() *cobra.Command {
	return roleCommand("worker", "Run workers only", roleWorker)
}

func operatorCommand() *cobra.Command {
	return roleCommand("operator", "Run the private HTTP side only", roleOperator)
}

func roleCommand(name, short string, roles role) *cobra.Command {
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
			return runRoles(c.Context(), cfg, name, roles, func() {})
		},
	}
}

// runRoles starts the roles, calls started once all of them run, and stops them when the context ends: readiness first, then
// the ingress, then the workers, then the clients.
func runRoles(ctx context.Context, cfg config.Config, name string, roles role, started func()) error {
	collectLess()
	p, err := newProcess(ctx, cfg, name, roles)
	if err != nil {
		return err
	}
	err = p.start(ctx, name, roles)
	switch {
	case err == nil:
		slog.InfoContext(ctx, "process.started", "role", name, "version", buildinfo.Read().Version)
		p.operator.Started()
		started()
		select {
		case <-ctx.Done():
		case err = <-p.failed:
		}
	case ctx.Err() != nil:
		err = nil // it was told to stop before it had started
	}
	slog.Info("process.stopping", "role", name)
	return errors.Join(err, p.stop())
}

func (p *process) start(ctx context.Context, name string, roles role) error {
	if err := p.startDebug(); err != nil {
		return err
	}
	if roles.needsDatabase() {
		if err := p.openStore(ctx); err != nil {
			return err
		}
	}
	if err := p.startErrorLog(ctx); err != nil {
		return err
	}
	if roles.has(roleIngress | roleWorker) {
		if err := p.openInbox(ctx); err != nil {
			return err
		}
	}
	if err := p.startOperator(ctx, roles); err != nil {
		return err
	}
	p.watchStores(name)
	if roles.has(roleWorker) {
		p.pump = p.newPump()
	}
	ready := p.prepare(ctx, roles)
	if !roles.has(roleIngress) {
		return <-ready
	}
	select {
	case err := <-ready:
		if err != nil {
			return err
		}
	case <-time.After(patience):
		go p.report(ctx, ready)
	}
	return p.startIngress()
}

// prepare starts, in the background, what may have to wait for its stores: workers and the drain. An ingress serves without
// them, since it needs either store only.
func (p *process) prepare(ctx context.Context, roles role) <-chan error {
	ctx, cancel := context.WithCancel(ctx)
	ready, done := make(chan error, 1), make(chan struct{})
	p.onStop("workers and drain", func(stopping context.Context) error {
		cancel()
		<-done
		var err error
		if p.drain != nil {
			err = p.drain.Stop(stopping)
		}
		if p.pump != nil {
			p.pump.Stop()
		}
		stopAll(p.workers)
		return err
	})
	go func() {
		defer close(done)
		ready <- p.startBackground(ctx, roles)
	}()
	return ready
}

func (p *process) startBackground(ctx context.Context, roles role) error {
	if roles.needsDatabase() {
		if err := p.requireMigrations(ctx); err != nil {
			return err
		}
	}
	if roles.has(roleWorker) {
		if err := p.startWorkers(ctx); err != nil {
			return err
		}
		p.pump.Start()
	}
	if roles.has(roleIngress | roleWorker) {
		return p.startDrain()
	}
	return nil
}

// report ends the process if what was started in the background has failed, and not because the process ends.
func (p *process) report(ctx context.Context, ready <-chan error) {
	if err := <-ready; err != nil && ctx.Err() == nil {
		p.failed <- err
	}
}

// startOperator comes first, so that health can be read while the other roles wait for their stores.
func (p *process) startOperator(ctx context.Context, roles role) (err error) {
	var checks []operator.Check
	if p.side != nil {
		checks = append(checks, operator.Check{Name: "database", Probe: p.side.Ping})
	}
	if roles.has(roleIngress | roleWorker) {
		checks = append(checks, operator.Check{Name: "temporal", Probe: p.probeTemporal()})
	}
	options := operator.Options{
		Version: buildinfo.Read().Version, Checks: checks, EitherIsEnough: roles.has(roleIngress),
		Metrics: p.telemetry.Handler(), MetricsJSON: p.telemetry.JSONHandler(), MetricsHistory: p.startHistory(),
	}
	if p.inboxDepth != nil {
		options.Inbox = p.inboxDepth.Read
	}
	if roles.has(roleOperator) {
		options.TemporalWeb = p.cfg.Operator.TemporalWeb
		if options.Tokens, err = p.operatorTokens(); err != nil {
			return err
		}
		if options.API, err = p.operatorAPI(ctx); err != nil {
			return err
		}
	}
	p.operator = operator.New(options)
	p.onStop("operator side", p.operator.Shutdown)
	return p.serveOn("operators", p.cfg.Operator.Addr, p.operator.Serve)
}

// startHistory keeps the last hours of the metrics in memory.
func (p *process) startHistory() http.Handler {
	history := p.telemetry.History()
	ctx, cancel := context.WithCancel(context.Background())
	p.onStop("history of metrics", func(context.Context) error { cancel(); return nil })
	go history.Run(ctx)
	return history
}

func (p *process) startIngress() error {
	cfg := p.cfg.Ingress
	in, err := intake.New(intake.Options{
		Starter: p.starter(), Inbox: p.spooler(), Remover: p.forgetter(), Conflicts: p.conflicts(),
		Breaker: p.gate, BulkStarter: p.pump,
		Budget: cfg.HandlerBudget, StartTimeout: cfg.StartTimeout, AckBudget: cfg.AckBudget,
	})
	if err != nil {
		return err
	}
	server, err := ingress.New(ingress.Options{
		Catalogue:      p.catalogue,
		Intake:         in,
		Errors:         p.errors,
		SelfTest:       p.selfTest(),
		HeaderTimeout:  cfg.HeaderTimeout,
		BodyTimeout:    cfg.BodyTimeout,
		WriteTimeout:   cfg.WriteTimeout,
		IdleTimeout:    cfg.IdleTimeout,
		BodyLimit:      int(cfg.BodyLimit),
		MaxConns:       cfg.MaxConnections,
		MaxConnsPerIP:  cfg.MaxConnsPerIP,
		TrustedProxies: cfg.TrustedProxies,
		PublicURL:      cfg.PublicURL,
		Questions:      delivery.NewClient(delivery.Options{AllowPrivate: cfg.AllowPrivateHandlers}),
		HandlerURL:     p.cfg.Handler,
	})
	if err != nil {
		return err
	}
	p.onStop("ingress", func(ctx context.Context) error {
		select {
		case <-time.After(cfg.DrainDelay):
		case <-ctx.Done():
		}
		ctx, cancel := context.WithTimeout(ctx, cfg.ShutdownGrace)
		defer cancel()
		return server.Shutdown(ctx)
	})
	p.warnOfSecrets()
	return p.serveOn("webhooks", cfg.Addr, server.Serve)
}

// warnOfSecrets names the providers that can authenticate nobody as they are configured. Most installations use few of those
// that are built in, so it is no mistake; and their requests are refused.
func (p *process) warnOfSecrets() {
	catalogue := p.catalogue.Catalogue()
	for _, name := range catalogue.Names() {
		provider, _ := catalogue.Lookup(name)
		if err := provider.CheckSecrets(); err != nil {
			slog.Debug("provider.closed", "provider", name, "error", err.Error(), "variables", provider.SecretNames())
		}
	}
}

// requireMigrations waits for the database and refuses one whose schema is behind.
func (p *process) requireMigrations(ctx context.Context) error {
	if err := waitFor(ctx, "the database", p.store.Ping); err != nil {
		return err
	}
	have, want, err := migrations.Current(ctx, p.cfg.Database.URL.Reveal())
	if err != nil {
		return err
	}
	if have < want {
		return fmt.Errorf("the database is at migration %d and this program needs %d: run `holdfast migrate`", have, want)
	}
	return nil
}
