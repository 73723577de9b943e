package process

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"holdfast/event"
	"holdfast/internal/config"
	"holdfast/internal/installation"
	"holdfast/internal/telemetry"
	"holdfast/operator"
	"holdfast/persistence"
	"holdfast/providers"
	"holdfast/redrive"
)

// operatorTokens reads who may call the API, and refuses an address that nobody should reach without a token.
func (p *process) operatorTokens() (operator.Tokens, error) {
	cfg := p.cfg.Operator
	tokens, err := operator.ParseTokens(cfg.Tokens.Reveal())
	if err != nil {
		return nil, fmt.Errorf("HOLDFAST_OPERATOR_TOKENS: %w", err)
	}
	if err := operator.CheckAddress(cfg.Addr, tokens); err != nil {
		return nil, fmt.Errorf("HOLDFAST_OPERATOR_ADDR: %w", err)
	}
	if len(tokens) == 0 {
		slog.Warn("operator.open", "reason", "no tokens are configured: whoever is on this machine may do everything",
			"address", cfg.Addr)
	}
	return tokens, nil
}

// operatorAPI is the API on a pool of its own, so that operators and events never wait for each other's connections.
func (p *process) operatorAPI(ctx context.Context) (*operator.API, error) {
	store, err := openOperatorStore(ctx, p.cfg, p.telemetry)
	if err != nil {
		return nil, err
	}
	p.onStop("operators' database", func(context.Context) error { store.Close(); return nil })
	redrives := &redrive.Service{Letters: store, Books: store, Runs: p.starter()}
	rebuilds := &redrive.Rebuilds{Books: store, Runs: p.starter(), Parse: providers.Parser(p.catalogue.Lookup)}
	api := &operator.API{
		Events: store, DeadLetters: store, Entities: store, Audit: store, Errors: store, Conflicts: store,
		Stats:   installation.NewStatistics(p.cfg, store, p.temporal),
		Replays: redrives, Redrives: redrives, Rebuilds: rebuilds, Redactor: redactor{p.catalogue},
	}
	if p.codec.Encrypts() {
		api.Payloads = p.codec
	}
	return api, nil
}

func openOperatorStore(
	ctx context.Context, cfg config.Config, t *telemetry.Telemetry,
) (*persistence.Store, error) {
	return persistence.Open(ctx, persistence.Config{
		URL:              cfg.Database.URL.Reveal(),
		MaxConns:         cfg.Operator.MaxConns,
		StatementTimeout: cfg.Operator.StatementTimeout,
		LockTimeout:      min(cfg.Database.LockTimeout, cfg.Operator.StatementTimeout),
		ApplicationName:  "holdfast-operator",
		Tracer:           t.DatabaseTracer(),
	})
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
