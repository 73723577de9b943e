package process

import (
	"context"
	"fmt"

	"holdfast/internal/buildinfo"
	"holdfast/internal/process/operators"
	"holdfast/internal/telemetry"
	"holdfast/operator"
	"holdfast/operator/access"
)

// startOperator comes first, so that health can be read while the other roles wait for their stores.
func (p *process) startOperator(ctx context.Context, roles Roles) (err error) {
	var checks []operator.Check
	if p.side != nil {
		checks = append(checks, operator.Check{Name: "database", Probe: p.side.Ping})
	}
	if roles.has(RoleIngress | RoleWorker) {
		checks = append(checks, operator.Check{Name: "temporal", Probe: p.probeTemporal()})
	}
	history := p.startHistory()
	options := operator.Options{
		Version: buildinfo.Read().Version, Checks: checks, EitherIsEnough: roles.has(RoleIngress),
		Metrics: p.telemetry.Handler(), MetricsJSON: p.telemetry.JSONHandler(), MetricsHistory: history,
	}
	if p.inboxDepth != nil {
		options.Inbox = p.inboxDepth.Read
	}
	p.addRefusals(&options)
	if roles.has(RoleOperator) {
		options.TemporalWeb, options.ChangesOrigins = p.cfg.Operator.TemporalWeb, p.cfg.Operator.ChangesOrigins
		if options.Tokens, err = operators.Tokens(p.cfg.Operator); err != nil {
			return err
		}
		store, err := operators.OpenStore(ctx, p.cfg, p.telemetry)
		if err != nil {
			return err
		}
		p.onStop("operators' database", func(context.Context) error { store.Close(); return nil })
		side := operators.Side{
			Config: p.cfg, Catalogue: p.catalogue, Codec: p.codec, Temporal: p.temporal, Starter: p.starter(),
		}
		api, closeDesk := side.API(store)
		p.onStop("operators' Temporals", func(context.Context) error { closeDesk(); return nil })
		options.API, options.Sessions, options.Tickets = api, store, p.tickets
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

// addRefusals serves why requests were refused, where nobody reaches it without a token but this machine. A process that only
// receives is started whatever its address is: there they stay inside.
func (p *process) addRefusals(o *operator.Options) {
	if p.refusals == nil {
		return
	}
	tokens, err := access.ParseTokens(p.cfg.Operator.Tokens.Reveal())
	if err == nil && operator.CheckAddress(p.cfg.Operator.Addr, tokens) == nil {
		o.Tokens, o.Refusals = tokens, p.refusals
	}
}

// startHistory keeps the last hours of the metrics in memory.
func (p *process) startHistory() *telemetry.History {
	history := p.telemetry.History()
	ctx, cancel := context.WithCancel(context.Background())
	p.onStop("history of metrics", func(context.Context) error { cancel(); return nil })
	go history.Run(ctx)
	return history
}
