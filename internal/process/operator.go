package process

import (
	"context"
	"errors"
	"fmt"

	"holdfast/ingress"
	"holdfast/internal/buildinfo"
	"holdfast/internal/config"
	"holdfast/internal/process/operatorapi"
	"holdfast/internal/telemetry"
	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/persistence"
	"holdfast/providers"
)

// startOperator comes first, so that health is available while the other roles wait for their stores.
func (p *process) startOperator(ctx context.Context, roles Roles) (err error) {
	history := p.startHistory()
	options := operator.Options{
		Version: buildinfo.Read().Version, Checks: p.checks(roles),
		EitherIsEnough: roles.has(RoleIngress) && p.cfg.Ingress.Ack != config.AckStored,
		Metrics:        p.telemetry.Handler(), MetricsJSON: p.telemetry.JSONHandler(), MetricsHistory: history,
	}
	if p.inboxDepth != nil {
		options.Inbox = p.inboxDepth.Read
	}
	p.addRefusals(&options)
	if roles.has(RoleOperator) {
		options.TemporalWeb, options.ChangesOrigins = p.cfg.Operator.TemporalWeb, p.cfg.Operator.ChangesOrigins
		if options.Tokens, err = operatorapi.Tokens(p.cfg.Operator); err != nil {
			return err
		}
		side, store, err := p.openSide(ctx)
		if err != nil {
			return err
		}
		options.API, options.Sessions, options.LoginLinks = p.api, store.Audit, p.dev.Tickets
		options.Prefix = string(p.cfg.Operator.Prefix)
		if err := operator.CheckPrefix(options.Prefix); err != nil {
			return fmt.Errorf("HOLDFAST_OPERATOR_PREFIX: %w", err)
		}
		options.Site = side.Console(options, store, history).Site()
	}
	p.operator = operator.New(options)
	p.onStop("operator side", p.operator.Shutdown)
	return p.serveOn("operators", p.cfg.Operator.Addr, p.operator.Serve)
}

// checks returns what a process needs to be ready. An ingress needs a store that can commit; other roles can do much of their
// work while a store only answers.
func (p *process) checks(roles Roles) (checks []operator.Check) {
	database, temporal := func(context.Context) error { return nil }, p.probeTemporal()
	if p.side != nil {
		database = p.side.Ping
	}
	if roles.has(RoleIngress) {
		temporal = p.commits.temporal.Probe
		if p.commits.database != nil {
			database = p.commits.database.Probe
		}
	}
	if p.side != nil {
		checks = append(checks, operator.Check{Name: "database", Probe: database})
	}
	if roles.has(RoleIngress | RoleWorker) {
		checks = append(checks, operator.Check{Name: "temporal", Probe: temporal})
	}
	return checks
}

// openSide opens the API's store and creates the API once for all its users.
func (p *process) openSide(ctx context.Context) (side operatorapi.Side, store *persistence.Store, err error) {
	side = operatorapi.Side{
		Config: p.cfg, Catalogue: func() *providers.Live { return p.catalogue }, Codec: p.codec,
		Temporal: p.temporal, Starter: p.starter(),
	}
	if p.api != nil {
		return side, p.apiStore, nil
	}
	if p.apiStore, err = operatorapi.OpenStore(ctx, p.cfg, p.telemetry); err != nil {
		return side, nil, err
	}
	p.onStop("operators' database", func(context.Context) error { p.apiStore.Close(); return nil })
	var closeAdmin func()
	p.api, closeAdmin = side.API(p.apiStore)
	p.onStop("operators' Temporals", func(context.Context) error { closeAdmin(); return nil })
	return side, p.apiStore, nil
}

// dispatcherOf returns nil if no token for the dispatcher's clients is configured.
func (p *process) dispatcherOf(ctx context.Context) (ingress.Dispatcher, error) {
	if !p.cfg.Ingress.DispatcherToken.IsSet() {
		return nil, nil
	}
	if !p.cfg.Database.URL.IsSet() {
		return nil, errors.New("HOLDFAST_DISPATCHER_TOKEN needs a database, where events and subscriptions are read: set " +
			"DATABASE_URL=postgres://holdfast@db.internal:5432/holdfast")
	}
	side, _, err := p.openSide(ctx)
	if err != nil {
		return nil, err
	}
	return side.Dispatcher(p.api)
}

// addRefusals serves the reasons of refused requests, if only this machine or clients with a token can reach them. An
// ingress-only process starts with any address, so it leaves them out if the address is reachable without a token.
func (p *process) addRefusals(o *operator.Options) {
	if p.refusals == nil {
		return
	}
	tokens, err := access.ParseTokens(p.cfg.Operator.Tokens.Reveal())
	if err == nil && operator.CheckAddress(p.cfg.Operator.Addr, tokens) == nil {
		o.Tokens, o.Refusals = tokens, p.refusals
	}
}

// startHistory keeps the metrics of the last hours in memory.
func (p *process) startHistory() *telemetry.History {
	history := p.telemetry.History()
	ctx, cancel := context.WithCancel(context.Background())
	p.onStop("history of metrics", func(context.Context) error { cancel(); return nil })
	go history.Run(ctx)
	return history
}
