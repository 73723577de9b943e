package providers

import (
	"regexp"

	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/mapping"
	"holdfast/providers/reading"
	"holdfast/providers/receiving"
	"holdfast/providers/recovery"
)

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// compile builds the Provider of a definition, and collects every problem. It is usable only if there is none.
func compile(c *mapping.Compiler, d *definition.Definition, tree map[string]any) *Provider {
	p := &Provider{written: d, digest: digestOf(tree)}
	if !namePattern.MatchString(d.Name) {
		c.Add("name", "invalid name %q: use up to 40 lower-case letters, digits and dashes", d.Name)
	}
	if d.Name+".yaml" != c.File && d.Name+".yml" != c.File {
		c.Add("name", "%q must be the name of the file", d.Name)
	}
	c.CheckSources("sources", d.Sources)
	decoders := decode.New(&c.Problems, d.Decode)
	p.Gate = receiving.New(c, d, &decoders) // first: it finds out what the other parts may read of a request
	p.API = recovery.NewAPI(&c.Problems, p.Paths()[0], d)
	p.Reader = reading.New(c, d, p.digest, &decoders, p.Fetches(), p.Conditions())
	if d.API != nil {
		p.apiRate = receiving.CompileRate(&c.Problems, "api.rate", d.API.Rate)
	}
	p.replay = newReplay(&c.Problems, d.Replay)
	p.samples = newSamples(c, d.Samples)
	return p
}
