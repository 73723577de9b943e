package operatorapi

import (
	"context"
	"fmt"
	"log/slog"

	"go.temporal.io/sdk/client"

	"holdfast/delivery/admin"
	"holdfast/event"
	"holdfast/event/feed"
	"holdfast/internal/config"
	"holdfast/internal/payloadcodec"
	"holdfast/internal/stores"
	"holdfast/internal/telemetry"
	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/api/definitionapi"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/api/eventtypeapi"
	"holdfast/operator/launch"
	"holdfast/persistence"
	"holdfast/providers"
	"holdfast/workflows/runs"
)

// Side contains the dependencies of a process's API and console.
type Side struct {
	Config config.Config
	// Catalogue returns the definitions.
	Catalogue func() *providers.Live
	// Unreadable returns why Catalogue lacks the definitions that aren't built in; nil for a process that wouldn't have started
	// then.
	Unreadable func() error
	Codec      *payloadcodec.Codec
	Temporal   client.Client
	Starter    *runs.Starter
}

// Tokens parses the API tokens, and refuses a non-loopback address without any.
func Tokens(cfg config.Operator) (access.Tokens, error) {
	tokens, err := access.ParseTokens(cfg.Tokens.Reveal())
	if err != nil {
		return nil, fmt.Errorf("HOLDFAST_OPERATOR_TOKENS: %w", err)
	}
	if err := operator.CheckAddress(cfg.Addr, tokens); err != nil {
		return nil, fmt.Errorf("HOLDFAST_OPERATOR_ADDR: %w", err)
	}
	if len(tokens) == 0 {
		slog.Info("operator.open", "reason", "no tokens are configured: every user of this machine has full access",
			"address", cfg.Addr)
	}
	return tokens, nil
}

// OpenStore opens a separate pool, so that operators and events never wait for each other's connections. Without a process there
// is no telemetry.
func OpenStore(ctx context.Context, cfg config.Config, t *telemetry.Telemetry) (*persistence.Store, error) {
	c := stores.StoreConfig(cfg)
	c.MaxConns, c.StatementTimeout = cfg.Operator.MaxConns, cfg.Operator.StatementTimeout
	c.LockTimeout = min(c.LockTimeout, c.StatementTimeout)
	c.ApplicationName = "holdfast-operator"
	if t != nil {
		c.Tracer = t.DatabaseTracer()
	}
	return persistence.Open(ctx, c)
}

func (s Side) lookup(name string) (*providers.Provider, bool) { return s.Catalogue().Lookup(name) }

// digest returns the digest of the current definition; "" without one.
func (s Side) digest(provider string) string {
	p, ok := s.lookup(provider)
	if !ok {
		return ""
	}
	return p.Digest()
}

// API returns the operator API over a store; closeAdmin closes the connections to destinations' Temporals.
func (s Side) API(store *persistence.Store) (all *api.API, closeAdmin func()) {
	outbound, closeAdmin := s.outbound(store)
	all = &api.API{
		Events: store.EventView(), DeadLetters: store.DeadLetters, Entities: store.EntityView(), Audit: store.Audit,
		Errors: store.Errors, Conflicts: store.Read, Maintenance: maintained{s},
		Stats:         stores.NewStatistics(s.Config, store, s.Temporal),
		SingleReplays: &launch.SingleReplays{DeadLetters: store.ReplayView(), Runs: s.Starter},
		Replays:       launch.NewReplays(store.Replays, s.Starter, providers.SplittingParser(s.lookup), s.digest),
		Rebuilds:      launch.NewRebuilds(store.Rebuilds, s.Starter, providers.Parser(s.lookup)),
		Recoveries: launch.NewRecoveries(store.Recoveries, s.Starter, func(provider string) error {
			_, _, err := providers.ListOf(s.lookup, provider)
			return err
		}),
		Lists: store.Recoveries, Mappings: store.Minutes, Counts: store.CountView(), Imports: s.importer(store),
		Redactor:   providers.Redactor{Lookup: s.lookup},
		EventTypes: &eventtypeapi.API{Store: store.EventTypes},
		Outbound:   outbound, Changes: store.Changes, Live: feed.NewHub(store.Changes, 0),
	}
	all.Definitions = &definitionapi.API{Live: s.Catalogue, Event: all.FindEvent, Shapes: store.Observed}
	all.Accepted, all.Payloads = runs.NewReader(s.Temporal, s.Codec.DataConverter()), s.Codec
	if web := s.Config.Operator.TemporalWeb; len(web) > 0 {
		all.WorkflowURL = func(run event.Run) string { return api.WorkflowURL(web[0], s.Config.Temporal.Namespace, run) }
	}
	return all, closeAdmin
}

func (s Side) outbound(store *persistence.Store) (out *deliveryapi.API, closeAdmin func()) {
	samples := admin.Samples{Names: func() []string { return s.Catalogue().Catalogue().Names() }, Lookup: s.lookup}
	d := stores.NewDeliveryAdmin(s.Config, store, s.Temporal, samples)
	return &deliveryapi.API{
		Stored: store.QueueView(), CheckSignature: d.CheckSignature, Pruner: store.Subscriptions,
		Destinations: store.Subscriptions, Changes: d, Subscriptions: store.Subscriptions, Trials: d.Trials, Deliveries: store.Outbox,
		Resends: launch.NewResends(store.Resends, s.Starter),
	}, d.Close
}
