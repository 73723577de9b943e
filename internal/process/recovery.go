package process

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"holdfast/activities/eventlist"
	"holdfast/activities/fetcher"
	"holdfast/delivery/webhook"
	"holdfast/event/operation"
	"holdfast/internal/telemetry"
	"holdfast/providers/client"
)

func (p *process) eventLists() *eventlist.Reader {
	return &eventlist.Reader{
		Lookup: p.catalogue.Lookup, Lists: p.catalogue.Lists, Client: p.apis, Rates: p.store.Rates,
		MayRedeliver: p.cfg.Recovery.Redeliver,
	}
}

// fetcher gets the states of what events name.
func (p *process) fetcher() *fetcher.Fetcher {
	return &fetcher.Fetcher{Lookup: p.catalogue.Lookup, Client: p.apis, Rates: p.store.Rates}
}

// newAPIClient returns a client of providers' APIs. It connects through the guard of deliveries, so that no definition can reach
// an internal address.
func (p *process) newAPIClient() *client.Client {
	transport := p.dev.APIs
	if transport == nil {
		transport = webhook.NewTransport(p.cfg.Deliveries.AllowedNetworks, p.routes.Default)
	}
	return client.New(transport, p.secrets.Secrets)
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

const (
	// listsAge is how long the state of lists is cached.
	listsAge = time.Minute
	// missedFor is how long missed events are exported.
	missedFor = 24 * time.Hour
)

// observeLists exports the gaps of the lists that this process can read, over all targets of a provider.
func (p *process) observeLists() error {
	read := recently(listsAge, p.store.Recoveries.Health)
	lists := p.eventLists()
	return p.telemetry.ObserveLists(func(context.Context) (map[string]telemetry.ListFigures, error) {
		all, err := read()
		available := lists.Available()
		figures := map[string]telemetry.ListFigures{}
		for _, h := range all {
			if slices.Contains(available, h.Provider) {
				figures[h.Provider] = figuresOf(h, figures[h.Provider], time.Now())
			}
		}
		return figures, err
	})
}

// figuresOf adds a list to the figures of other lists of its provider.
func figuresOf(h operation.ListHealth, f telemetry.ListFigures, now time.Time) telemetry.ListFigures {
	f.Behind = max(f.Behind, now.Sub(h.CompleteUntil()))
	for _, gap := range h.Gaps {
		if now.Sub(gap.StartedAt) < missedFor {
			f.Missed += gap.Missed
		}
		f.Unknown += gap.Unknown()
	}
	return f
}
