package providers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"holdfast/providers/auth"
	"holdfast/providers/definition"
)

// Catalogue is a set of providers. It is immutable and safe for concurrent use.
type Catalogue struct {
	providers map[string]*Provider
	// fixed leads from the paths without variables to the names of their providers, routes from the others.
	fixed  map[string]string
	routes []route
}

// route leads from a path to a provider.
type route struct {
	path     auth.Path
	provider string
}

// NewCatalogue also reports paths that two providers claim.
func NewCatalogue(all []*Provider) (*Catalogue, error) {
	c := &Catalogue{providers: map[string]*Provider{}, fixed: map[string]string{}}
	claimed := map[string]string{}
	var errs []error
	for _, provider := range all {
		c.providers[provider.name] = provider
		for _, path := range provider.paths {
			if other, taken := claimed[path.Shape()]; taken {
				errs = append(errs, &definition.Error{
					File: provider.name + ".yaml", Field: "paths",
					Reason: fmt.Sprintf("%q is also a path of %s", path.Template, other),
				})
				continue
			}
			claimed[path.Shape()] = provider.name
			if literal, ok := path.Literal(); ok {
				c.fixed[literal] = provider.name
				continue
			}
			c.routes = append(c.routes, route{path: path, provider: provider.name})
		}
	}
	sort.SliceStable(c.routes, func(i, j int) bool { return c.routes[i].path.Fixed() > c.routes[j].path.Fixed() })
	return c, errors.Join(errs...)
}

// WithSecrets gives the same catalogue with secrets. Without them no provider authenticates anybody.
func (c *Catalogue) WithSecrets(s auth.Secrets) *Catalogue {
	bound := &Catalogue{providers: make(map[string]*Provider, len(c.providers)), fixed: c.fixed, routes: c.routes}
	for name, p := range maps.All(c.providers) {
		with := *p
		with.Authenticator = p.WithSecrets(s)
		bound.providers[name] = &with
	}
	return bound
}

// Lookup finds a provider by its name.
func (c *Catalogue) Lookup(name string) (*Provider, bool) {
	p, ok := c.providers[name]
	return p, ok
}

// Names are the names of all providers, sorted.
func (c *Catalogue) Names() []string { return slices.Sorted(maps.Keys(c.providers)) }

// SecretNames are the references to secrets that the definitions make, each once, sorted.
func (c *Catalogue) SecretNames() []string {
	names := map[string]bool{}
	for _, p := range c.providers {
		for _, name := range p.SecretNames() {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// ByPath finds the provider of a path as it was sent (with its escapes, without its query), and the values of the
// path's variables. Fixed segments go before variables.
func (c *Catalogue) ByPath(requestPath string) (*Provider, map[string]string, bool) {
	requestPath = strings.Trim(requestPath, "/")
	if name, ok := c.fixed[requestPath]; ok {
		return c.providers[name], nil, true
	}
	segments := strings.Split(requestPath, "/")
	for i := range c.routes {
		if params, ok := c.routes[i].path.Match(segments); ok {
			return c.providers[c.routes[i].provider], params, true
		}
	}
	return nil, nil, false
}
