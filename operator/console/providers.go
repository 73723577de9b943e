package console

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/internal/lint"
	"holdfast/operator/api"
	"holdfast/operator/api/definitionapi"
	"holdfast/operator/console/frame"
	"holdfast/operator/console/gaps"
	"holdfast/operator/console/plot"
	"holdfast/operator/httpapi"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/auth/denial"
)

func (c *Console) providerRoutes() []route {
	if c.Definitions == nil {
		return nil
	}
	routes := []route{
		{"GET", "/console/providers", c.listProviders},
		{"GET", connectPath, c.listConnectable},
		{"GET", "/console/providers/:name", c.showProvider},
		{"GET", "/console/providers/:name/connect", c.showConnection},
		{"GET", "/console/providers/:name/connect/tail", c.tailConnection},
		{"GET", "/console/providers/:name/try", c.showTry},
		{"POST", "/console/providers/:name/try", c.tryRequest},
	}
	if c.API.Definitions != nil {
		routes = append(routes, route{"GET", "/console/providers/:name/fields", c.showFields})
	}
	return routes
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
	// Rows are the providers with events or problems and own definitions, problems first, then up to maxQuiet others with a secret;
	// or, for a search, those whose name or title has Search. Others is how many there are besides.
	Rows   []providerRow
	Search string
	Others int
	// Receives reports whether this process receives events and so counts refusals.
	Receives bool
	// NoCounts reports that the database didn't return counts of events.
	NoCounts bool
	// Loading is the result of the last reload; Own are the definitions that aren't built in, and Dir is the folder with their
	// files, or "".
	Loading providers.Loading
	Own     []string
	Dir     string
	// Gaps are providers whose rules for entities find nothing.
	Gaps []gaps.Gap
	// Unknown are refusals on paths of no provider.
	Unknown []oversight.RefusalCause
}

// maxQuiet is up to how many providers with a secret and without events are listed: `make run` has a secret for each.
const maxQuiet = 20

func (c *Console) listProviders(ctx *fiber.Ctx) error {
	data := providerList{
		Search: strings.TrimSpace(ctx.Query("name")), Receives: c.Refusals != nil, Loading: c.Definitions.Loading(),
		Own: c.Definitions.Catalogue().OwnNames(), Dir: c.Definitions.Dir(),
	}
	if httpapi.IsViewer(ctx) {
		data.Loading.Rejected, data.Dir = nil, ""
	}
	counts, err := c.eventCounts(ctx)
	data.NoCounts = err != nil
	refused := map[string]oversight.ProviderRefusals{}
	for _, of := range c.refusalsOf("") {
		refused[of.Provider] = of
	}
	catalogue := c.Definitions.Catalogue()
	var quiet []providerRow
	for _, name := range catalogue.Names() {
		p, _ := catalogue.Lookup(name)
		row := providerRow{Provider: p, secret: secretOf(p), Refused: refused[name].Count}
		row.Events, row.Dead = counts[name].all, counts[name].dead
		if causes := refused[name].Causes; len(causes) > 0 {
			row.Cause = causes[0].Cause
		}
		switch {
		case data.wants(row):
			data.Rows = append(data.Rows, row)
		case data.Search == "" && row.Secret == auth.SecretConfigured:
			quiet = append(quiet, row)
		default:
			data.Others++
		}
	}
	if len(quiet) <= maxQuiet {
		data.Rows = append(data.Rows, quiet...)
	} else {
		data.Others += len(quiet)
	}
	slices.SortStableFunc(data.Rows, func(a, b providerRow) int {
		return cmp.Or(cmp.Compare(b.problems(), a.problems()), cmp.Compare(b.Events, a.Events))
	})
	data.Unknown = refused["unknown"].Causes
	data.Gaps = slices.DeleteFunc(c.gaps.Find(ctx.UserContext()), func(g gaps.Gap) bool {
		p, _ := catalogue.Lookup(g.Provider)
		return !data.matches(p)
	})
	return c.Show(ctx, "providers", frame.Page{Title: "Providers", Section: "Providers", Data: data})
}

// Total counts the definitions.
func (l providerList) Total() int { return len(l.Rows) + l.Others }

// wants reports whether the page shows a provider.
func (l providerList) wants(row providerRow) bool {
	if l.Search != "" {
		return l.matches(row.Provider)
	}
	return row.Events+row.Refused > 0 || row.Secret == auth.SecretUnusable || slices.Contains(l.Own, row.Name())
}

// matches reports whether the name or title of a provider has the search.
func (l providerList) matches(p *providers.Provider) bool {
	return p != nil && strings.Contains(strings.ToLower(p.Name()+" "+p.Title()), strings.ToLower(l.Search))
}

// problems counts the provider's dead events and refused requests, and an unusable secret.
func (r providerRow) problems() int64 {
	n := r.Dead + r.Refused
	if r.Secret == auth.SecretUnusable {
		n++
	}
	return n
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
	// Path is the definition's file; "" if it is built in, and for viewers.
	Path string
	// Loading is the result of the last reload.
	Loading providers.Loading
	// Unapplied are the rules for entities that find none in the sample that they are for.
	Unapplied []lint.Finding
	// Mapping counts the events of the last day for which rules for entities are meant; zero if they aren't counted.
	Mapping oversight.MappedEvents

	Receives bool
	Refused  oversight.ProviderRefusals
	// QueueProblems are those of its queues that the last examination found.
	QueueProblems []oversight.SeenFinding
	// Lists are the provider's lists of events, one for each target.
	Lists []operation.ListHealth
	// Chart counts its events; nil if they aren't counted.
	Chart *plot.Bars
}

// Recovers reports whether the definition describes a list of events.
func (p providerPage) Recovers() bool { return p.Recovery() != nil }

func (c *Console) showProvider(ctx *fiber.Ctx) error {
	p, err := c.providerOf(ctx)
	if err != nil {
		return err
	}
	since, window, err := chartSince(ctx)
	if err != nil {
		return err
	}
	text, err := p.Definition()
	if err != nil {
		return err
	}
	data := providerPage{
		Provider: p, secret: secretOf(p), Limits: lint.Limits(p), Replay: lint.ReplayOf(p, c.Replaying), Definition: string(text),
		Receives: c.Refusals != nil, Loading: c.Definitions.Loading(), Path: c.Definitions.Path(p),
	}
	data.Unapplied = c.gaps.Unapplied()[p.Name()]
	if httpapi.IsViewer(ctx) {
		data.Loading.Rejected, data.Path = nil, ""
	}
	mapped, err := c.gaps.Counts(ctx.UserContext())
	if err != nil {
		return err
	}
	data.Mapping = mapped[p.Name()]
	if data.Chart = c.eventChart(ctx.UserContext(), p.Name(), since, time.Time{}); data.Chart != nil {
		data.Chart.Ranges = windowsOf(window, "/console/providers/"+pathEscape(p.Name()))
	}
	data.QueueProblems = c.queueProblems(ctx.UserContext(), p)
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

// fieldSample is how many events of a type the page of its fields reads.
const fieldSample = 100

// fieldsPage is the data of the page of the fields of a type; Shown is nil if the provider has no events.
type fieldsPage struct {
	Name  string
	Types []string
	Shown *definitionapi.ObservedType
}

// showFields shows the fields of a type, or of the provider's first type, and links to the other types.
func (c *Console) showFields(ctx *fiber.Ctx) error {
	p, err := c.providerOf(ctx)
	if err != nil {
		return err
	}
	q := httpapi.QueryOf(ctx, httpapi.TypeParameter)
	if q.Err != nil {
		return q.Err
	}
	data := fieldsPage{Name: p.Name()}
	bounded, cancel := context.WithTimeout(ctx.UserContext(), httpapi.Timeout)
	defer cancel()
	if data.Types, err = c.API.Definitions.TypesOf(bounded, p.Name()); err != nil {
		return err
	}
	eventType := q.Text("type")
	if eventType == "" && len(data.Types) > 0 {
		eventType = data.Types[0]
	}
	if eventType != "" {
		found, err := c.API.Definitions.ObservedTypes(bounded, p.Name(), eventType, fieldSample)
		if err != nil {
			return err
		}
		data.Shown = &found.Items[0]
	}
	return c.Show(ctx, "fields", frame.Page{Title: p.Name() + ": fields", Section: "Providers", Data: data})
}

// queueProblems returns what keeps an ingress from reading the queues of a provider.
func (c *Console) queueProblems(ctx context.Context, p *providers.Provider) (found []oversight.SeenFinding) {
	if c.Doctor == nil || len(p.Queues()) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, findingsTimeout)
	defer cancel()
	for _, f := range c.Doctor(ctx).Findings {
		if f.Check == "source queue "+p.Name() {
			found = append(found, f)
		}
	}
	return found
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

const (
	connectPath = "/console/connect"
	// maxFirst is how many events the page that connects a provider shows. A console with fewer events shows how to connect one.
	maxFirst = 5
	// firstProvider is shown to those who haven't received anything: `make run` has a secret for it, and a sample.
	firstProvider = "stripe"
)

// connectList is the data of the page that lists the providers that can be connected.
type connectList struct {
	// Query is contained in the names or titles of Rows.
	Query string
	Rows  []providerRow
	// HasDir reports whether a folder of own definitions is configured; Dir is that, "" for viewers.
	HasDir bool
	Dir    string
}

func (c *Console) listConnectable(ctx *fiber.Ctx) error {
	data := connectList{
		Query: strings.TrimSpace(ctx.Query("q")), Dir: c.Definitions.Dir(), HasDir: c.Definitions.Dir() != "",
	}
	if httpapi.IsViewer(ctx) {
		data.Dir = ""
	}
	wanted := strings.ToLower(data.Query)
	catalogue := c.Definitions.Catalogue()
	for _, name := range catalogue.Names() {
		p, _ := catalogue.Lookup(name)
		if strings.Contains(name, wanted) || strings.Contains(strings.ToLower(p.Title()), wanted) {
			data.Rows = append(data.Rows, providerRow{Provider: p, secret: secretOf(p)})
		}
	}
	return c.Show(ctx, "connect", frame.Page{Title: "Connect a provider", Section: "Providers", Data: data})
}

// connection is the data of the page that connects one provider, and of the card of a console without events.
type connection struct {
	*providers.Provider
	lint.Connection
	connectionState

	Tail string
}

// connectionState is the part of a connection that is updated live.
type connectionState struct {
	secret
	// Names are the variables of the secrets.
	Names []string
	// Events are the newest ones, and NoEvents reports that the database didn't return them.
	Events   []api.EventView
	NoEvents bool
	Receives bool
	// Refusal is the last one, nil if there was none since the start of this process. Cause explains it.
	Refusal *oversight.Refusal
	Cause   oversight.RefusalCause
}

// IsRefused reports whether the last request was refused.
func (s connectionState) IsRefused() bool {
	return s.Refusal != nil && (len(s.Events) == 0 || s.Events[0].ReceivedAt.Before(s.Refusal.At))
}

func (c *Console) showConnection(ctx *fiber.Ctx) error {
	p, err := c.providerOf(ctx)
	if err != nil {
		return err
	}
	data := connection{
		Provider: p, Connection: lint.Connect(p, c.PublicURL), connectionState: c.connectionState(ctx.UserContext(), p),
		Tail: c.URL("/console/providers/%s/connect/tail", p.Name()),
	}
	return c.Show(ctx, "connection", frame.Page{Title: "Connect " + p.Name(), Section: "Providers", Data: data})
}

func (c *Console) tailConnection(ctx *fiber.Ctx) error {
	p, err := c.providerOf(ctx)
	if err != nil {
		return err
	}
	changed := make(chan struct{}, 1)
	background := func(context.Context) {}
	if c.API.Changes != nil && c.API.Live != nil {
		background = func(ctx context.Context) { c.followFeed(ctx, p.Name(), changed) }
	}
	return c.Stream(ctx, changed, background, func(ctx context.Context) ([]byte, error) {
		now, ok := c.Definitions.Catalogue().Lookup(p.Name())
		if !ok {
			return nil, event.ErrNotFound
		}
		return c.Fragment("connection", "connection-state", c.connectionState(ctx, now))
	})
}

// first returns a provider to connect, or nil if enough events are stored, or if the database doesn't say so.
func (c *Console) first(ctx context.Context) *connection {
	if c.Definitions == nil || c.API.Events == nil {
		return nil
	}
	events, err := c.API.StoredEvents(ctx, event.RecordQuery{Limit: maxFirst})
	p, ok := c.Definitions.Catalogue().Lookup(firstProvider)
	if err != nil || len(events) >= maxFirst || !ok {
		return nil
	}
	return &connection{
		Provider: p, Connection: lint.Connect(p, c.PublicURL), connectionState: connectionState{secret: secretOf(p), Events: events},
	}
}

func (c *Console) connectionState(ctx context.Context, p *providers.Provider) connectionState {
	s := connectionState{secret: secretOf(p), Names: p.SecretNames(), Receives: c.Refusals != nil}
	if s.NoEvents = c.API.Events == nil; !s.NoEvents {
		var err error
		s.Events, err = c.API.StoredEvents(ctx, event.RecordQuery{Provider: p.Name(), Limit: maxFirst})
		s.NoEvents = err != nil
	}
	for _, of := range c.refusalsOf(p.Name()) {
		if len(of.Last) == 0 {
			continue
		}
		s.Refusal = &of.Last[0]
		for _, cause := range of.Causes {
			if cause.Cause == s.Refusal.Cause {
				s.Cause = cause
			}
		}
	}
	return s
}
