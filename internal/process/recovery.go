package process

import (
	"context"
	"log/slog"

	"holdfast/activities/eventlist"
	"holdfast/activities/fetcher"
	"holdfast/delivery/webhook"
	"holdfast/event"
	"holdfast/internal/config"
	"holdfast/providers/recovery/client"
)

// eventLists reads providers' lists.
func (p *process) eventLists() *eventlist.Reader {
	return &eventlist.Reader{Lookup: p.catalogue.Lookup, Client: p.apiClient(), Rates: p.store.Rates}
}

// fetcher gets the states of what events name.
func (p *process) fetcher() *fetcher.Fetcher {
	return &fetcher.Fetcher{Lookup: p.catalogue.Lookup, Client: p.apiClient(), Rates: p.store.Rates}
}

// apiClient calls providers' APIs through the guard of deliveries, so that no definition can reach an internal address.
func (p *process) apiClient() *client.Client {
	return client.New(webhook.NewTransport(p.cfg.Deliveries.AllowedNetworks), config.RememberSecrets(p.cfg.Secrets, secretsFor))
}

// switchRecoveryOn records since when the events of each provider can be recovered: its definition has a list, and the
// credentials for it are configured. An error is logged only, since the first recovery of a list records the same.
func (p *process) switchRecoveryOn(ctx context.Context) {
	on := map[string]event.Duration{}
	for _, name := range p.catalogue.Catalogue().Names() {
		provider, ok := p.catalogue.Lookup(name)
		if ok && provider.Recovery() != nil && p.areSet(provider.Recovery().SecretNames()) {
			on[name] = provider.DedupeWindow("")
		}
	}
	if len(on) == 0 {
		return
	}
	if err := p.store.Recoveries.SwitchOn(ctx, on); err != nil {
		slog.WarnContext(ctx, "recovery.not_switched_on", "error", err.Error())
	}
}

func (p *process) areSet(names []string) bool {
	for _, name := range names {
		if len(p.cfg.Secrets(name)) == 0 {
			return false
		}
	}
	return true
}
