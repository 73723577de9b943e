package providers

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/auth/jws"
	"holdfast/providers/definition"
	"holdfast/providers/receiving"
	"holdfast/providers/recovery"
)

// Catalogue is a set of providers. It is immutable and safe for concurrent use.
type Catalogue struct {
	providers map[string]entry
	// fixed maps paths without variables to provider names; routes has the others.
	fixed  map[string]string
	routes []route
	// secretNames and apiSecretNames compile parts of all definitions, once.
	secretNames, apiSecretNames func() []string
}

// entry is a provider that may not be compiled yet. Most installations use few of the built-in ones.
type entry struct {
	read
	list     func() *recovery.List
	provider func() *Provider
}

// read is a definition that is parsed but not compiled.
type read struct {
	written *definition.Definition
	file    definition.File
	paths   []auth.Path
}

// route maps a path to a provider.
type route struct {
	path     auth.Path
	provider string
}

// NewCatalogue combines compiled providers with the other built-in definitions of files. The error joins one for every path
// that two providers claim.
func NewCatalogue(files definition.Files, compiled []*Provider) (*Catalogue, error) {
	byName := map[string]*Provider{}
	for _, p := range compiled {
		byName[p.Name()] = p
	}
	var all []entry
	for _, name := range files.Names() {
		if p := byName[name]; p != nil {
			all = append(all, compiledEntry(p))
		} else if files[name].Origin == definition.OriginBuiltIn {
			all = append(all, builtInEntry(files, files[name]))
		}
	}
	return newCatalogue(all)
}

func compiledEntry(p *Provider) entry {
	return entry{read{p.written, p.file, p.Routes()}, p.Recovery, func() *Provider { return p }}
}

func newCatalogue(all []entry) (*Catalogue, error) {
	c := &Catalogue{providers: map[string]entry{}, fixed: map[string]string{}}
	claimed := map[string]string{}
	var errs []error
	for _, e := range all {
		name := e.written.Name
		c.providers[name] = e
		for _, path := range e.paths {
			if other, exists := claimed[path.Shape()]; exists {
				errs = append(errs, &definition.Error{
					File: name + ".yaml", Field: "paths", Reason: fmt.Sprintf("%q is also a path of %s", path.Template, other),
				})
				continue
			}
			claimed[path.Shape()] = name
			if literal, ok := path.Literal(); ok {
				c.fixed[literal] = name
				continue
			}
			c.routes = append(c.routes, route{path: path, provider: name})
		}
	}
	c.secretNames, c.apiSecretNames = sync.OnceValue(c.readSecretNames), sync.OnceValue(c.readAPISecretNames)
	sort.SliceStable(c.routes, func(i, j int) bool { return c.routes[i].path.Fixed() > c.routes[j].path.Fixed() })
	return c, errors.Join(errs...)
}

// WithSecrets returns a copy with secrets. Without secrets no provider authenticates requests.
func (c *Catalogue) WithSecrets(s auth.Secrets) *Catalogue {
	return c.with(func(p *Provider) *Provider { return p.Bound(s) })
}

// WithCertificates returns a copy that fetches certificates with get. Without it no provider authenticates requests by
// certificate.
func (c *Catalogue) WithCertificates(get auth.Certificates) *Catalogue {
	return c.with(func(p *Provider) *Provider { return p.Certified(get) })
}

// WithKeySets returns a copy that finds published keys with get. Without it no provider authenticates tokens that are signed with
// one.
func (c *Catalogue) WithKeySets(get auth.KeySets) *Catalogue {
	return c.with(func(p *Provider) *Provider { return p.Keyed(get) })
}

// KeySets returns where the senders publish their keys whose variables are set. Only their definitions are compiled.
func (c *Catalogue) KeySets() (all []jws.Set) {
	for _, name := range c.Names() {
		hasKeys := func(s definition.Scheme) bool { return s.JWT != nil && s.JWT.Keys != nil }
		if e := c.providers[name]; slices.ContainsFunc(e.written.Auth, hasKeys) {
			all = append(all, e.provider().KeySets()...)
		}
	}
	return all
}

// WithRate returns a copy with a rate for providers whose definition has none; nil is no rate.
func (c *Catalogue) WithRate(r *receiving.Rate) *Catalogue {
	if r == nil {
		return c
	}
	return c.with(func(p *Provider) *Provider { return p.Limited(r) })
}

func (c *Catalogue) with(change func(*Provider) *Provider) *Catalogue {
	out := &Catalogue{
		providers: make(map[string]entry, len(c.providers)), fixed: c.fixed, routes: c.routes,
		secretNames: c.secretNames, apiSecretNames: c.apiSecretNames,
	}
	for name, e := range c.providers {
		out.providers[name] = entry{e.read, e.list, sync.OnceValue(func() *Provider { return change(e.provider()) })}
	}
	return out
}

// Lookup returns the provider with the name.
func (c *Catalogue) Lookup(name string) (*Provider, bool) {
	e, ok := c.providers[name]
	if !ok {
		return nil, false
	}
	return e.provider(), true
}

// Names returns the names of all providers, sorted.
func (c *Catalogue) Names() []string { return slices.Sorted(maps.Keys(c.providers)) }

// OwnNames returns the names of the providers whose definitions aren't built in, sorted.
func (c *Catalogue) OwnNames() []string {
	return slices.DeleteFunc(c.Names(), func(name string) bool { return c.providers[name].file.Origin == definition.OriginBuiltIn })
}

// HasOwnRules reports whether the rules for entities of a definition are for this installation: it isn't built in, and has other
// rules than the definition that it changes or extends.
func (c *Catalogue) HasOwnRules(name string) bool {
	p, ok := c.Lookup(name)
	if !ok || p.Origin() != definition.OriginOwn {
		return false
	}
	base, ok := c.Lookup(p.Extends())
	rules := func(p *Provider) []any { return []any{p.Tree()["entities"], p.Tree()["overrides"]} }
	return !ok || !reflect.DeepEqual(rules(p), rules(base))
}

// BulkNames returns the names of the providers with events in the bulk lane, sorted.
func (c *Catalogue) BulkNames() []string {
	return slices.DeleteFunc(c.Names(), func(name string) bool { return !c.providers[name].written.HasBulk() })
}

// SecretNames returns the distinct references to secrets in the definitions, sorted. Don't change them.
func (c *Catalogue) SecretNames() []string { return c.secretNames() }

func (c *Catalogue) readSecretNames() []string {
	names := map[string]bool{}
	for _, e := range c.providers {
		for _, name := range receiving.SecretNames(e.written, e.paths) {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// APISecretNames returns the names of the variables with which the providers' APIs are called, sorted. Don't change them.
func (c *Catalogue) APISecretNames() []string { return c.apiSecretNames() }

func (c *Catalogue) readAPISecretNames() []string {
	var names []string
	for _, e := range c.providers {
		var p definition.Problems // reported when the definition is compiled
		names = append(names, recovery.NewAPI(&p, "", e.written).APISecretNames()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Queues returns the queues that an ingress reads, by the name of their definition. Definitions without any aren't compiled for
// that.
func (c *Catalogue) Queues() (all []receiving.Queue) {
	for _, name := range c.Names() {
		if e := c.providers[name]; len(e.written.Queues) > 0 {
			all = append(all, e.provider().Queues()...)
		}
	}
	return all
}

// Lists returns the list of events of each provider that has one. The rest of their definitions isn't compiled for that.
func (c *Catalogue) Lists() map[string]*recovery.List {
	all := map[string]*recovery.List{}
	for name, e := range c.providers {
		if list := e.list(); list != nil {
			all[name] = list
		}
	}
	return all
}

// ListOf returns a provider and its list of events. The error is an event.Error of class rejected: unknown_provider, or no_list
// if the definition describes none.
func ListOf(lookup func(name string) (*Provider, bool), name string) (*Provider, *recovery.List, error) {
	p, ok := lookup(name)
	if !ok {
		return nil, nil, event.Rejectf("unknown_provider", "there is no definition of %q", name)
	}
	list := p.Recovery()
	if list == nil {
		return nil, nil, event.Rejectf("no_list", "the events of %s can't be recovered: its definition describes no list of events "+
			"(`recover`)", name)
	}
	return p, list, nil
}

// Replays returns the automatic replay settings of each provider.
func (c *Catalogue) Replays() map[string]Replay {
	all := make(map[string]Replay, len(c.providers))
	for name, e := range c.providers {
		all[name] = newReplay(&definition.Problems{}, e.written.Replay)
	}
	return all
}

// ByPath returns the provider of a path as sent (with its escapes, without its query), and the values of the path's variables.
// Fixed segments take precedence over variables.
func (c *Catalogue) ByPath(requestPath string) (*Provider, map[string]string, bool) {
	requestPath = strings.Trim(requestPath, "/")
	if name, ok := c.fixed[requestPath]; ok {
		return c.providers[name].provider(), nil, true
	}
	segments := strings.Split(requestPath, "/")
	for i := range c.routes {
		if params, ok := c.routes[i].path.Match(segments); ok {
			return c.providers[c.routes[i].provider].provider(), params, true
		}
	}
	return nil, nil, false
}

// HandlerNames returns the distinct settings with the handlers' URLs.
func (c *Catalogue) HandlerNames() []string {
	names := map[string]bool{}
	for _, e := range c.providers {
		for _, q := range e.written.Questions {
			if q.Handler != "" {
				names[q.Handler] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Parser parses events with the definitions that lookup returns at that moment.
func Parser(lookup func(name string) (*Provider, bool)) event.Parser {
	return func(r event.Receipt, body []byte) (event.Parsed, error) {
		if r.BodyLost {
			return event.Parsed{}, &event.Error{Class: event.ClassRejected, Code: event.CodeBodyLost, Text: event.BodyLostText}
		}
		provider, ok := lookup(r.Provider)
		if !ok {
			return event.Parsed{}, &event.Error{
				Class: event.ClassFailed,
				Code:  event.CodeUnknownProvider,
				Text:  "this process has no definition of provider " + r.Provider,
			}
		}
		return provider.Parse(r, body)
	}
}

// SplittingParser is Parser for events that runs process: it also says which of them are split.
func SplittingParser(lookup func(name string) (*Provider, bool)) event.Parser {
	parse := Parser(lookup)
	return func(r event.Receipt, body []byte) (event.Parsed, error) {
		if p, ok := lookup(r.Provider); ok && !r.BodyLost {
			switch whole, err := p.ParseWhole(r, body); {
			case err != nil:
				return event.Parsed{}, err
			case whole != nil:
				return *whole, nil
			}
		}
		return parse(r, body)
	}
}
