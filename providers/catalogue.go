package providers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"

	"holdfast/providers/auth"
	"holdfast/providers/definition"
)

// Catalogue is a set of providers. It is immutable and safe for concurrent use.
type Catalogue struct {
	providers map[string]entry
	// fixed leads from the paths without variables to the names of their providers, routes from the others.
	fixed  map[string]string
	routes []route
}

// entry is a provider that may not be compiled yet. Most installations use few of those that are built in.
type entry struct {
	read
	provider func() *Provider
}

// read is a definition that is read and not compiled.
type read struct {
	written *definition.Definition
	file    definition.File
	paths   []auth.Path
}

// route leads from a path to a provider.
type route struct {
	path     auth.Path
	provider string
}

// NewCatalogue is of what has been compiled, and of the other definitions of files that are built in. The error joins one for
// every path that two providers claim.
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
	return entry{read{p.written, p.file, p.paths}, func() *Provider { return p }}
}

func newCatalogue(all []entry) (*Catalogue, error) {
	c := &Catalogue{providers: map[string]entry{}, fixed: map[string]string{}}
	claimed := map[string]string{}
	var errs []error
	for _, e := range all {
		name := e.written.Name
		c.providers[name] = e
		for _, path := range e.paths {
			if other, taken := claimed[path.Shape()]; taken {
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
	sort.SliceStable(c.routes, func(i, j int) bool { return c.routes[i].path.Fixed() > c.routes[j].path.Fixed() })
	return c, errors.Join(errs...)
}

// WithSecrets gives the same catalogue with secrets. Without them no provider authenticates anybody.
func (c *Catalogue) WithSecrets(s auth.Secrets) *Catalogue {
	return c.with(func(p *Provider) *Provider { return p.Bound(s) })
}

// WithCertificates gives the same catalogue with what fetches certificates. Without it no provider authenticates anybody by one.
func (c *Catalogue) WithCertificates(get auth.Certificates) *Catalogue {
	return c.with(func(p *Provider) *Provider { return p.Certified(get) })
}

// WithRate gives the same catalogue with a rate for providers whose definition says nothing of one; nil is no rate.
func (c *Catalogue) WithRate(r *Rate) *Catalogue {
	if r == nil {
		return c
	}
	return c.with(func(p *Provider) *Provider { return p.Limited(r) })
}

func (c *Catalogue) with(change func(*Provider) *Provider) *Catalogue {
	out := &Catalogue{providers: make(map[string]entry, len(c.providers)), fixed: c.fixed, routes: c.routes}
	for name, e := range c.providers {
		out.providers[name] = entry{e.read, sync.OnceValue(func() *Provider { return change(e.provider()) })}
	}
	return out
}

// Lookup finds a provider by its name.
func (c *Catalogue) Lookup(name string) (*Provider, bool) {
	e, ok := c.providers[name]
	if !ok {
		return nil, false
	}
	return e.provider(), true
}

// Names are the names of all providers, sorted.
func (c *Catalogue) Names() []string { return slices.Sorted(maps.Keys(c.providers)) }

// OwnNames are the names of the providers whose definitions are not built in, sorted.
func (c *Catalogue) OwnNames() []string {
	return slices.DeleteFunc(c.Names(), func(name string) bool { return c.providers[name].file.Origin == definition.OriginBuiltIn })
}

// SecretNames are the references to secrets that the definitions make, each once, sorted.
func (c *Catalogue) SecretNames() []string {
	names := map[string]bool{}
	for _, e := range c.providers {
		for _, name := range secretNames(e.written, e.paths) {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// secretNames are those of a definition's schemes and of its handshakes.
func secretNames(d *definition.Definition, paths []auth.Path) []string {
	var p definition.Problems // what is wrong is told where the definition is compiled
	names := auth.New(&p, d.Auth, d.Secrets, paths).SecretNames()
	for _, ch := range d.Challenges {
		if ch.Auth != nil {
			names = append(names, auth.NewOne(&p, "", *ch.Auth, paths).SecretNames()...)
		}
	}
	return names
}

// Redrives are when the dead events of each provider are run again by themselves.
func (c *Catalogue) Redrives() map[string]Redrive {
	all := make(map[string]Redrive, len(c.providers))
	for name, e := range c.providers {
		all[name] = (&compiler{}).newRedrive(e.written.Redrive)
	}
	return all
}

// ByPath finds the provider of a path as it was sent (with its escapes, without its query), and the values of the
// path's variables. Fixed segments go before variables.
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
