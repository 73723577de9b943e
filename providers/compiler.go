package providers

import (
	"fmt"
	"regexp"
	"strings"
)

// compiler turns one definition into a Provider, collecting every mistake on the way.
type compiler struct {
	problems
	kept       kept
	coverage   coverage
	pathParams []string
	// hasSource: the definition tells the provider's senders apart.
	hasSource bool
}

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// maxBodyLimit is in bytes.
const maxBodyLimit = 32 << 20

// compile builds the Provider of a definition. It is only of use if no problem was found.
func (c *compiler) compile(d *definition) *Provider {
	p := &Provider{name: d.Name, title: d.Title, docs: d.Docs, bodyLimit: d.BodyLimit}
	if !namePattern.MatchString(d.Name) {
		c.add("name", "%q is no name: want lower-case letters, digits and dashes, at most 40", d.Name)
	}
	if d.Name+".yaml" != c.file && d.Name+".yml" != c.file {
		c.add("name", "%q must be the name of the file", d.Name)
	}
	p.paths = c.newPaths(d.Name, d.Paths)
	if p.bodyLimit < 0 || p.bodyLimit > maxBodyLimit {
		c.add("body_limit", "want 1 to %d bytes", maxBodyLimit)
	}
	p.Authenticator = c.newAuthenticator(d.Auth, d.Secrets, p.paths)
	c.coverage = p.Coverage()
	c.kept = c.newKept(d.Keep, p.Authenticator)
	p.kept = c.kept
	p.decoders = c.newDecoders(d.Decode)
	p.batch = c.newBatch(d.Batch)
	c.compileEvents(p, d)
	c.compileLimits(p, d)
	return p
}

// compileEvents compiles what the definition says of an event.
func (c *compiler) compileEvents(p *Provider, d *definition) {
	c.required("type", string(d.Type))
	p.typeOf = c.expression("type", d.Type)
	p.unsigned = d.Unsigned != ""
	p.sourceOf = c.expression("source", d.Source)
	c.hasSource = d.Source != ""
	if c.oneOf("redelivery", d.Redelivery, "run_again", "reject") == "reject" {
		p.redelivery = RejectRedelivery
	}
	p.redrive = c.newRedrive(d.Redrive)
	p.base, p.overrides = c.newRules(d)
	p.identity = identityOf(p)
	p.wanted = wantedOf(p)
	p.challenges = c.newChallenges(d.Challenges)
	p.questions = c.newQuestions(d.Questions)
	p.redact = c.newRedaction(d.Redact)
	p.samples = c.newSamples(d.Samples)
	p.typeLabels = newTypeLabels(d)
}

// compileLimits compiles what the ingress enforces.
func (c *compiler) compileLimits(p *Provider, d *definition) {
	p.rate = c.newRate("rate", d.Rate)
	p.clientRate = c.newRate("client_rate", d.ClientRate)
	p.replies = c.newReplies(d.Replies)
	p.replyBody = c.newExpression("replies.body", d.Replies.Body)
}

// expression compiles an expression of an event and checks that what it names is kept.
func (c *compiler) expression(field string, source jq) *expression {
	x := c.newExpression(field, source)
	c.checkReads(field, x, c.kept, c.pathParams)
	return x
}

// newExpression compiles the source, or reports why it cannot be used; nil for "".
func (c *compiler) newExpression(field string, source jq) *expression {
	x, err := compileExpression(field, string(source))
	if err != nil {
		c.add(field, "%s", err.Error())
	}
	return x
}

// newPaths adds the path that every provider has.
func (c *compiler) newPaths(name string, templates []string) []path {
	paths := []path{{template: pathPrefix + name, segments: strings.Split(strings.Trim(pathPrefix+name, "/"), "/")}}
	for i, t := range templates {
		p, params, reason := newPath(t)
		if reason != "" {
			c.add(fmt.Sprintf("paths[%d]", i), "%s", reason)
			continue
		}
		paths = append(paths, p)
		c.pathParams = append(c.pathParams, params...)
	}
	return paths
}

// identityOf collects the paths within the body that type, key and versions are read from.
func identityOf(p *Provider) [][]string {
	expressions := append(p.keyExpressions(), p.typeOf)
	for _, r := range p.allRules() {
		for i := range r.entities {
			expressions = append(expressions, r.entities[i].version)
		}
	}
	var paths [][]string
	for _, x := range expressions {
		if x != nil {
			paths = append(paths, x.reads.fields...)
		}
	}
	return paths
}

// allRules are those of the definition itself and of its overrides.
func (p *Provider) allRules() []*rules {
	all := []*rules{&p.base}
	for i := range p.overrides {
		all = append(all, &p.overrides[i].rules)
	}
	return all
}

// keyExpressions are the parts of all keys.
func (p *Provider) keyExpressions() (expressions []*expression) {
	for _, r := range p.allRules() {
		if r.key == nil {
			continue
		}
		for _, part := range r.key.parts {
			expressions = append(expressions, part.expr)
		}
		expressions = append(expressions, r.key.fingerprint.delivery)
	}
	return expressions
}
