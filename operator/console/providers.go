package console

import (
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/internal/lint"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/auth/denial"
)

func (c *Console) providerRoutes() []route {
	if c.Definitions == nil {
		return nil
	}
	return []route{
		{"GET", "/console/providers", c.listProviders},
		{"GET", "/console/providers/:name", c.showProvider},
		{"GET", "/console/providers/:name/try", c.showTry},
		{"POST", "/console/providers/:name/try", c.tryRequest},
	}
}

// secret reports whether requests can be authenticated, and if not, why.
type secret struct {
	Secret  auth.SecretState
	Because denial.Reason
}

func secretOf(p *providers.Provider) (s secret) {
	s.Secret, s.Because = p.SecretState()
	return s
}

type providerRow struct {
	*providers.Provider

	secret
	// Events, Dead and Refused count over the last hour.
	Events, Dead, Refused int64
	// Cause is the most frequent cause of refusals.
	Cause string
}

// providerList is the data of the page of providers.
type providerList struct {
	Rows []providerRow
	// Receives reports whether this process receives events and so counts refusals.
	Receives bool
	// NoCounts reports that the database didn't return counts of events.
	NoCounts bool
	// Loading is the result of the last reload; Own are the definitions that aren't built in.
	Loading providers.Loading
	Own     []string
	// Unknown are refusals on paths of no provider.
	Unknown []oversight.RefusalCause
}

func (c *Console) listProviders(ctx *fiber.Ctx) error {
	data := providerList{
		Receives: c.Refusals != nil, Loading: c.Definitions.Loading(), Own: c.Definitions.Catalogue().OwnNames(),
	}
	if httpapi.IsViewer(ctx) {
		data.Loading.Rejected = nil
	}
	counts, err := c.eventCounts(ctx)
	data.NoCounts = err != nil
	refused := map[string]oversight.ProviderRefusals{}
	for _, of := range c.refusalsOf("") {
		refused[of.Provider] = of
	}
	catalogue := c.Definitions.Catalogue()
	for _, name := range catalogue.Names() {
		p, _ := catalogue.Lookup(name)
		row := providerRow{Provider: p, secret: secretOf(p), Refused: refused[name].Count}
		row.Events, row.Dead = counts[name].all, counts[name].dead
		if causes := refused[name].Causes; len(causes) > 0 {
			row.Cause = causes[0].Cause
		}
		data.Rows = append(data.Rows, row)
	}
	data.Unknown = refused["unknown"].Causes
	return c.Show(ctx, "providers", frame.Page{Title: "Providers", Section: "Providers", Data: data})
}

type eventCount struct{ all, dead int64 }

// eventCounts counts each provider's events of the last hour.
func (c *Console) eventCounts(ctx *fiber.Ctx) (map[string]eventCount, error) {
	counts := map[string]eventCount{}
	if c.API.Stats == nil {
		return counts, event.ErrNotFound
	}
	stats, err := c.API.Stats.Stats(ctx.UserContext(), time.Hour)
	if err != nil {
		return counts, err
	}
	for _, n := range stats.Events {
		count := counts[n.Provider]
		if count.all += n.Count; n.Status == event.StatusDead {
			count.dead += n.Count
		}
		counts[n.Provider] = count
	}
	return counts, nil
}

func (c *Console) refusalsOf(provider string) []oversight.ProviderRefusals {
	if c.Refusals == nil {
		return nil
	}
	return c.Refusals.Refusals(provider)
}

// providerPage is the data of the page of one provider. Definitions name secrets; no page shows a secret's value.
type providerPage struct {
	*providers.Provider

	secret
	Limits, Replay, Definition string

	Receives bool
	Refused  oversight.ProviderRefusals
	// Lists are the provider's lists of events, one for each target.
	Lists []operation.ListHealth
}

// Recovers reports whether the definition describes a list of events.
func (p providerPage) Recovers() bool { return p.Recovery() != nil }

func (c *Console) showProvider(ctx *fiber.Ctx) error {
	p, err := c.providerOf(ctx)
	if err != nil {
		return err
	}
	text, err := p.Definition()
	if err != nil {
		return err
	}
	data := providerPage{
		Provider: p, secret: secretOf(p), Limits: lint.Limits(p), Replay: lint.ReplayOf(p), Definition: string(text),
		Receives: c.Refusals != nil,
	}
	for _, of := range c.refusalsOf(p.Name()) {
		data.Refused = of
	}
	if c.API.Lists != nil && data.Recovers() {
		lists, err := c.API.Lists.Health(ctx.UserContext())
		if err != nil {
			return err
		}
		data.Lists = slices.DeleteFunc(lists, func(h operation.ListHealth) bool { return h.Provider != p.Name() })
	}
	return c.Show(ctx, "provider", frame.Page{Title: p.Name(), Section: "Providers", Data: data})
}

// providerOf returns the provider in the path, or event.ErrNotFound.
func (c *Console) providerOf(ctx *fiber.Ctx) (*providers.Provider, error) {
	name, err := httpapi.PathText(ctx, "name")
	if err != nil {
		return nil, err
	}
	p, ok := c.Definitions.Catalogue().Lookup(name)
	if !ok {
		return nil, event.ErrNotFound
	}
	return p, nil
}
