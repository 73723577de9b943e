package providers

import (
	"regexp"
	"slices"
)

// compiler turns one definition into a Provider, collecting every mistake on the way.
type compiler struct{ eventCompiler }

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
	p.paths, c.pathParams = newPaths(&c.problems, d.Name, d.Paths)
	if p.bodyLimit < 0 || p.bodyLimit > maxBodyLimit {
		c.add("body_limit", "want 1 to %d bytes", maxBodyLimit)
	}
	p.Authenticator = newAuthenticator(&c.problems, d.Auth, d.Secrets, p.paths)
	c.coverage = p.Coverage()
	c.kept = newKept(&c.problems, d.Keep, p.Authenticator)
	p.kept = c.kept
	p.decoders = newDecoders(&c.problems, d.Decode)
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
	p.mapping = c.newMapping(d)
	p.decoders.identity = identityOf(p)
	p.decoders.wanted = wantedOf(p)
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

// identityOf collects the paths within the body that type, key and versions are read from.
func identityOf(p *Provider) [][]string {
	var paths [][]string
	for _, x := range slices.Concat(p.mapping.keyExpressions(), []*expression{p.typeOf}, p.mapping.versions()) {
		if x != nil {
			paths = append(paths, x.reads.fields...)
		}
	}
	return paths
}

// wantedOf is what the ingress reads of a body: type, source, keys, and whatever must not be there twice. It is everything if one
// of the expressions is more than a path.
func wantedOf(p *Provider) wanted {
	paths := slices.Clone(p.decoders.identity)
	for _, x := range append(p.mapping.keyExpressions(), p.typeOf, p.sourceOf) {
		switch {
		case x == nil || !x.reads.body:
		case x.names == nil:
			return nil
		default:
			paths = append(paths, x.reads.fields...)
		}
	}
	w := wanted{}
	for _, path := range paths {
		if len(path) == 0 {
			return nil
		}
		w.add(path)
	}
	return w
}
