package process

import (
	"context"
	"log/slog"
	"time"

	"holdfast/delivery/webhook"
	"holdfast/ingress"
	"holdfast/ingress/intake"
	"holdfast/ingress/limits"
	"holdfast/ingress/queues"
	"holdfast/internal/config"
	"holdfast/workflows/runs"
)

// importsAge is how long the providers of imports are cached: an import is noticed at most that late.
const importsAge = 15 * time.Second

func (p *process) startIngress(ctx context.Context) error {
	cfg := p.cfg.Ingress
	clients, err := p.dispatcherOf(ctx)
	if err != nil {
		return err
	}
	options := intake.Options{
		Starter: p.commits.temporal.Starting(p.starter()), Duplicates: p.duplicates, Breaker: p.breaker, BulkStarter: p.bulkStarter,
		CommitTimeout: cfg.HandlerBudget, StartTimeout: cfg.StartTimeout, AckBudget: cfg.AckBudget,
	}
	var rates limits.RateStore
	if p.inbox != nil {
		options.Starter = p.accepted.Starting(options.Starter)
		options.Inbox, options.Remover = p.commits.database.Spooling(p.inbox.Inbox.NewInboxWriter()), p.inbox.Inbox
		options.Both = cfg.Ack == config.AckStored
		options.Conflicts, rates = p.inbox.Duplicates, p.inbox.Rates
		options.Owners, options.ImportedProviders = p.inbox.Duplicates, recently(importsAge, p.inbox.Duplicates.ImportedProviders)
	}
	p.catalogue.SetCertificates(webhook.NewCertificates(p.routes.Default).Key)
	p.keepKeySets()
	server, err := ingress.New(ingress.Options{
		Catalogue:      p.catalogue,
		Intake:         intake.New(options),
		Refusals:       p.refusals,
		Errors:         p.errors,
		Refused:        p.countRefused(),
		SelfTest:       p.selfTest(),
		Dispatcher:     clients,
		EventTypes:     p.followEventTypes(ctx),
		HeaderTimeout:  cfg.HeaderTimeout,
		BodyTimeout:    cfg.BodyTimeout,
		WriteTimeout:   cfg.WriteTimeout,
		IdleTimeout:    cfg.IdleTimeout,
		BodyLimit:      int(cfg.BodyLimit),
		BodyMemory:     int(cfg.BodyMemory),
		MaxConns:       cfg.MaxConnections,
		MaxConnsPerIP:  cfg.MaxConnsPerIP,
		TrustedProxies: cfg.TrustedProxies,
		PublicURL:      cfg.PublicURL,
		Rates:          rates,
		Questions:      webhook.NewClient(webhook.Options{AllowPrivate: cfg.AllowPrivateHandlers}),
		HandlerURL:     p.cfg.Handler,
	})
	if err != nil {
		return err
	}
	p.onStop("ingress", func(ctx context.Context) error {
		server.Drain()
		select {
		case <-time.After(cfg.DrainDelay):
		case <-ctx.Done():
		}
		ctx, cancel := context.WithTimeout(ctx, cfg.ShutdownGrace)
		defer cancel()
		return server.Shutdown(ctx)
	})
	p.warnOfSecrets()
	if err := p.serveOn("webhooks", cfg.Addr, server.Serve); err != nil {
		return err
	}
	return p.startQueues(server)
}

// startQueues reads the queues that definitions name. They stop before the server, which commits their messages.
func (p *process) startQueues(server *ingress.Server) error {
	p.queues = queues.New(queues.Options{Accept: server.AcceptMessage, Environment: p.cfg, Errors: p.errors})
	p.onStop("queues", p.queues.Close)
	return p.queues.Read(p.catalogue.Catalogue().Queues())
}

// keepKeySets has the keys that senders publish ready before a request needs them.
func (p *process) keepKeySets() {
	sets := webhook.NewKeySets(p.cfg.Deliveries.AllowedNetworks, p.routes.Default)
	p.catalogue.SetKeySets(sets.Keys)
	ctx, cancel := context.WithCancel(context.Background())
	p.onStop("published keys", func(context.Context) error { cancel(); return nil })
	go sets.Run(ctx, p.catalogue.KeySets)
}

// countRefused returns nil without a database.
func (p *process) countRefused() ingress.RefusedCounter {
	if p.side == nil {
		return nil
	}
	counter := p.side.Minutes.NewRefusedCounter()
	p.onStop("count of refused requests", counter.Stop)
	return counter
}

// warnOfSecrets logs, at debug level, the providers that can't authenticate requests as configured, whose requests are refused.
// That isn't an error, since most installations use few of the built-in providers.
func (p *process) warnOfSecrets() {
	if !slog.Default().Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	catalogue := p.catalogue.Catalogue()
	for _, name := range catalogue.Names() {
		provider, _ := catalogue.Lookup(name)
		if err := provider.CheckSecrets(); err != nil {
			slog.Debug("provider.closed", "provider", name, "error", err.Error(), "variables", provider.SecretNames())
		}
	}
}

// selfTest returns nil if it is disabled.
func (p *process) selfTest() *ingress.SelfTest {
	if !p.cfg.Ingress.SelfTest {
		return nil
	}
	stores := map[string]func(context.Context) error{"temporal": p.commits.temporal.Probe}
	if p.commits.database != nil {
		stores["database"] = p.commits.database.Probe
	}
	test := &ingress.SelfTest{
		Stores: stores, NeedsBoth: p.cfg.Ingress.Ack == config.AckStored,
		Queues: runs.Queues{Client: p.temporal, Namespace: p.cfg.Temporal.Namespace}.Read,
	}
	if p.inboxDepth != nil {
		test.Inbox, test.Failures = p.inboxDepth.Read, p.inbox.Errors.RecentFailures
	}
	return test
}
