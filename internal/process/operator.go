package process

import (
	"context"
	"net/http"

	"holdfast/internal/buildinfo"
	"holdfast/operator"
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
	options := operator.Options{
		Version: buildinfo.Read().Version, Checks: checks, EitherIsEnough: roles.has(RoleIngress),
		Metrics: p.telemetry.Handler(), MetricsJSON: p.telemetry.JSONHandler(), MetricsHistory: p.startHistory(),
	}
	if p.inboxDepth != nil {
		options.Inbox = p.inboxDepth.Read
	}
	if roles.has(RoleOperator) {
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
