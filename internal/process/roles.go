package process

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"holdfast/internal/buildinfo"
	"holdfast/internal/config"
	"holdfast/operator/access"
)

// Roles is a set of roles. Every process also has the operator side, for its health and metrics.
type Roles int

// The roles.
const (
	RoleIngress Roles = 1 << iota
	RoleWorker
	RoleOperator
)

func (r Roles) has(other Roles) bool { return r&other != 0 }

// needsDatabase reports whether the roles need a database. An ingress alone doesn't.
func (r Roles) needsDatabase() bool { return r.has(RoleWorker | RoleOperator) }

// Development contains what only `holdfast dev` needs. It is the zero value in production.
type Development struct {
	// Tickets are the one-time tokens in links to the console.
	Tickets *access.LoginLinks
	// APIs is the transport to the APIs of providers; nil for the one that refuses internal addresses.
	APIs http.RoundTripper
	// Say prints a line about a reload of the definitions, which then also follows each change of their files; nil does neither.
	Say func(string)
}

// Run starts the roles, calls started once all of them run, and stops them when the context ends: readiness first, then the
// ingress, then the workers, then the clients.
func Run(ctx context.Context, cfg config.Config, name string, roles Roles, dev Development, started func()) error {
	collectLess()
	p, err := newProcess(ctx, cfg, name, roles)
	if err != nil {
		return err
	}
	if p.dev = dev; dev.Say != nil {
		p.reloadOnChange()
	}
	err = p.start(ctx, name, roles)
	switch {
	case err == nil:
		close(p.started)
		slog.InfoContext(ctx, "process.started", "role", name, "version", buildinfo.Read().Version)
		p.operator.Started()
		started()
		select {
		case <-ctx.Done():
		case err = <-p.failed:
		}
	case ctx.Err() != nil:
		err = nil // it was stopped before it had started
	}
	slog.Info("process.stopping", "role", name)
	return errors.Join(err, p.stop())
}

func (p *process) start(ctx context.Context, name string, roles Roles) error {
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
	if roles.has(RoleIngress | RoleWorker) {
		if err := p.openInbox(ctx); err != nil {
			return err
		}
	}
	if roles.has(RoleIngress) {
		p.commits = p.newCommitProbes()
	}
	if err := p.startOperator(ctx, roles); err != nil {
		return err
	}
	p.watchStores(name)
	if roles.has(RoleWorker) {
		p.bulkStarter = p.newBulkStarter()
		p.apis = p.newAPIClient() // a reload may come before Temporal
	}
	ready := p.prepare(ctx, roles)
	if !roles.has(RoleIngress) {
		return <-ready
	}
	select {
	case err := <-ready:
		if err != nil {
			return err
		}
	case <-time.After(probePause):
		go p.report(ctx, ready)
	}
	return p.startIngress(ctx)
}
