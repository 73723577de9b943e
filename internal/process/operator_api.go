package process

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"holdfast/delivery/desk"
	"holdfast/event"
	"holdfast/feed"
	"holdfast/internal/config"
	"holdfast/internal/installation"
	"holdfast/internal/telemetry"
	"holdfast/moving"
	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/api/outgoing"
	"holdfast/persistence"
	"holdfast/providers"
	"holdfast/redrive"
)

// operatorTokens reads who may call the API, and refuses an address that nobody should reach without a token.
func (p *process) operatorTokens() (access.Tokens, error) {
	cfg := p.cfg.Operator
	tokens, err := access.ParseTokens(cfg.Tokens.Reveal())
	if err != nil {
		return nil, fmt.Errorf("HOLDFAST_OPERATOR_TOKENS: %w", err)
	}
	if err := operator.CheckAddress(cfg.Addr, tokens); err != nil {
		return nil, fmt.Errorf("HOLDFAST_OPERATOR_ADDR: %w", err)
	}
	if len(tokens) == 0 {
		slog.Info("operator.open", "reason", "no tokens are configured: whoever is on this machine may do everything",
			"address", cfg.Addr)
	}
	return tokens, nil
}

// operatorStore is a pool of its own, so that operators and events never wait for each other's connections.
func (p *process) operatorStore(ctx context.Context) (*persistence.Store, error) {
	store, err := openOperatorStore(ctx, p.cfg, p.telemetry)
	if err != nil {
		return nil, err
	}
	p.onStop("operators' database", func(context.Context) error { store.Close(); return nil })
	return store, nil
}

func (p *process) operatorAPI(store *persistence.Store) *api.API {
	redrives := &redrive.Service{Letters: store, Books: store, Runs: p.starter()}
	rebuilds := &redrive.Rebuilds{Books: store, Runs: p.starter(), Parse: providers.Parser(p.catalogue.Lookup)}
	imports := &moving.Imports{Books: store, Runs: p.starter()}
	api := &api.API{
		Events: store, DeadLetters: store, Entities: store, Audit: store, Errors: store, Conflicts: store,
		Stats:   installation.NewStatistics(p.cfg, store, p.temporal),
		Replays: redrives, Redrives: redrives, Rebuilds: rebuilds, Imports: imports, Redactor: redactor{p.catalogue},
		Outbound: p.outbound(store), Changes: store, Live: feed.NewHub(store, 0),
	}
	api.Payloads = p.codec
	return api
}

func openOperatorStore(
	ctx context.Context, cfg config.Config, t *telemetry.Telemetry,
) (*persistence.Store, error) {
	c := installation.StoreConfig(cfg)
	c.MaxConns, c.StatementTimeout = cfg.Operator.MaxConns, cfg.Operator.StatementTimeout
	c.LockTimeout = min(c.LockTimeout, c.StatementTimeout)
	c.ApplicationName, c.Tracer = "holdfast-operator", t.DatabaseTracer()
	return persistence.Open(ctx, c)
}

// outbound is what operators see and change of what goes out.
func (p *process) outbound(store *persistence.Store) *outgoing.API {
	samples := desk.Samples{Names: func() []string { return p.catalogue.Catalogue().Names() }, Lookup: p.catalogue.Lookup}
	d := installation.NewDesk(p.cfg, store, p.temporal, samples)
	p.onStop("operators' Temporals", func(context.Context) error { d.Close(); return nil })
	return &outgoing.API{
		Destinations: store, Changes: d, Subscriptions: store, Trials: d.Trials, Deliveries: store, Resends: d.Resends,
	}
}

// redactor hides what the definitions of providers hide; of a provider that is not known, everything.
type redactor struct{ catalogue *providers.Live }

func (r redactor) Redacts(provider string) bool {
	p, ok := r.catalogue.Lookup(provider)
	return !ok || p.Redacts()
}

func (r redactor) Redact(receipt event.Receipt, body []byte) (json.RawMessage, error) {
	p, ok := r.catalogue.Lookup(receipt.Provider)
	if !ok {
		return json.RawMessage("null"), nil
	}
	return p.Redact(receipt, body)
}
