package console

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/operator/console/frame"
	"holdfast/operator/exchange"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/auth/denial"
	"holdfast/providers/lint"
)

// Definitions are those that are valid at this moment, with the secrets that this process has.
type Definitions interface {
	Catalogue() *providers.Catalogue
	// Loading is what the last reload came to.
	Loading() providers.Loading
}

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

// secret says whether anybody can be authenticated, and why nobody can.
type secret struct {
	Secret  auth.SecretState
	Because denial.Reason
}

func secretOf(p *providers.Provider) (s secret) {
	s.Secret, s.Because = p.SecretState()
	return s
}

// providerRow is a provider in the list.
type providerRow struct {
	*providers.Provider

	secret
	// Events, Dead and Refused count the last hour.
	Events, Dead, Refused int64
	// Cause is that of most refusals.
	Cause string
}

// providerList is what the page of providers shows.
type providerList struct {
	Rows []providerRow
	// Receives says whether refusals are known here: another process may be the one that receives.
	Receives bool
	// NoCounts says that the database did not tell how many events there were.
	NoCounts bool
	// Loading is what the last reload came to; Own are the definitions that aren't built in.
	Loading providers.Loading
	Own     []string
	// Unknown are the refusals of paths that are nobody's.
	Unknown []oversight.RefusalCause
}

func (c *Console) listProviders(ctx *fiber.Ctx) error {
	data := providerList{
		Receives: c.Refusals != nil, Loading: c.Definitions.Loading(), Own: c.Definitions.Catalogue().OwnNames(),
	}
	if exchange.IsViewer(ctx) {
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

// eventCount is how many events of a provider there were.
type eventCount struct{ all, dead int64 }

// eventCounts are those of the last hour.
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

// providerPage is what the page of one provider shows. Definitions name secrets; values of secrets are nowhere.
type providerPage struct {
	*providers.Provider

	secret
	Limits, Redrive, Definition string

	Receives bool
	Refused  oversight.ProviderRefusals
}

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
		Provider: p, secret: secretOf(p), Limits: lint.Limits(p), Redrive: lint.RedriveOf(p), Definition: string(text),
		Receives: c.Refusals != nil,
	}
	for _, of := range c.refusalsOf(p.Name()) {
		data.Refused = of
	}
	return c.Show(ctx, "provider", frame.Page{Title: p.Name(), Section: "Providers", Data: data})
}

// providerOf is the provider that a path names, or event.ErrNotFound.
func (c *Console) providerOf(ctx *fiber.Ctx) (*providers.Provider, error) {
	name, err := exchange.PathText(ctx, "name")
	if err != nil {
		return nil, err
	}
	p, ok := c.Definitions.Catalogue().Lookup(name)
	if !ok {
		return nil, event.ErrNotFound
	}
	return p, nil
}
