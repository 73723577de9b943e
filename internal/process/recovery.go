package process

import (
	"context"
	"log/slog"

	"holdfast/activities/eventlist"
	"holdfast/delivery/webhook"
	"holdfast/event/operation"
	"holdfast/internal/config"
	"holdfast/providers/recovery/client"
)

// eventLists reads providers' lists through the guard of deliveries, so that no definition can reach an internal address.
func (p *process) eventLists() *eventlist.Reader {
	transport := webhook.NewTransport(p.cfg.Deliveries.AllowedNetworks)
	secrets := config.RememberSecrets(p.cfg.Secrets, secretsFor)
	return &eventlist.Reader{
		Lookup: p.catalogue.Lookup, Names: func() []string { return p.catalogue.Catalogue().Names() },
		Client: client.New(transport, secrets), Rates: p.store.Rates,
	}
}

// switchRecoveryOn records since when the events of each provider can be recovered: its definition has a list, and the
// credentials for it are configured. An error is logged only, since the first recovery of a list records the same.
func (p *process) switchRecoveryOn(ctx context.Context) {
	on := map[string]operation.DedupeWindows{}
	lists := p.eventLists()
	for _, name := range lists.Available() {
		if list, err := lists.Describe(name); err == nil {
			on[name] = list.Dedupe
		}
	}
	if len(on) == 0 {
		return
	}
	if err := p.store.Recoveries.SwitchOn(ctx, on); err != nil {
		slog.WarnContext(ctx, "recovery.not_switched_on", "error", err.Error())
	}
}
