package providers

import (
	"regexp"
	"slices"

	"holdfast/providers/auth"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
	"holdfast/providers/mapping"
	"holdfast/providers/recovery"
)

// compiler compiles one definition into a Provider and collects every error.
type compiler struct{ mapping.Compiler }

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// The limits of a request's body, in bytes: the largest that a definition can set, and those of definitions that set none, for
// providers with a secret and for those without.
const (
	MaxBodyLimit  = 25 << 20
	BodyLimit     = 4 << 20
	OpenBodyLimit = 256 << 10
)

// compile builds the Provider of a definition. It is usable only if no problem was found.
func (c *compiler) compile(d *definition.Definition) *Provider {
	p := &Provider{name: d.Name, written: d}
	if !namePattern.MatchString(d.Name) {
		c.Add("name", "invalid name %q: use up to 40 lower-case letters, digits and dashes", d.Name)
	}
	if d.Name+".yaml" != c.File && d.Name+".yml" != c.File {
		c.Add("name", "%q must be the name of the file", d.Name)
	}
	c.CheckSources("sources", d.Sources)
	p.paths, c.PathParams = auth.NewPaths(&c.Problems, d.Name, d.Paths)
	if d.BodyLimit < 0 || d.BodyLimit > MaxBodyLimit {
		c.Add("body_limit", "want 1 to %d bytes", MaxBodyLimit)
	}
	c.CheckMaximum("maximum", d.Maximum)
	if d.Gzip != "" {
		c.OneOf("gzip", d.Gzip, definition.GzipPlain, definition.GzipWire)
	}
	p.Authenticator = auth.New(&c.Problems, d.Auth, d.Secrets, p.paths)
	c.Coverage = p.Coverage()
	c.ReceiptFields = mapping.NewReceiptFields(&c.Problems, d.Keep, p.Authenticator)
	p.decoders = decode.New(&c.Problems, d.Decode)
	p.batch, p.parts = c.newBatch(d.Batch), c.newParts(d.Batch)
	c.HasParts = p.parts.Size > 1
	c.Item = itemPath(d.Batch)
	c.compileEvents(p, d)
	p.recovery = recovery.New(&c.Problems, p.paths[0].Template, d.API, d.Recover)
	p.fetches = recovery.NewFetches(&c.Problems, d.API, d.Fetch)
	if d.API != nil {
		p.apiRate = c.newRate("api.rate", d.API.Rate)
	}
	p.kept = c.ReceiptFields
	c.compileLimits(p, d)
	return p
}

// compileEvents compiles the rules for events.
func (c *compiler) compileEvents(p *Provider, d *definition.Definition) {
	p.challenges = c.newChallenges(d.Challenges, p.paths) // first, since their tokens are hidden from everything below
	c.Required("type", string(d.Type))
	p.typeOf = c.Expression("type", d.Type)
	p.needsType = c.OneOf("untyped", d.Untyped, "accept", "reject") == "reject"
	p.sourceOf = c.Expression("source", d.Source)
	c.HasSource, c.Fetches = d.Source != "", len(d.Fetch) > 0
	c.DeletesGone = slices.ContainsFunc(d.Fetch, func(f definition.Fetch) bool { return f.Gone == "delete" })
	p.refusals = c.newRefusals(d.Refuse)
	p.bodiless = c.newBodiless(d)
	p.rejectsRedelivery = c.OneOf("redelivery", d.Redelivery, "run_again", "reject") == "reject"
	p.replay = c.newReplay(d.Replay)
	p.mapping = c.Compile(d)
	p.decoders.Identity = identityOf(p)
	p.decoders.Projection = projectionOf(p)
	p.questions = c.newQuestions(d.Questions)
	p.redact = c.newRedaction(slices.Concat(d.Redact, tokensInBody(d.Auth)))
	p.samples = c.newSamples(d.Samples)
	p.typeLabels = newTypeLabels(d)
}

// compileLimits compiles the limits that the ingress enforces.
func (c *compiler) compileLimits(p *Provider, d *definition.Definition) {
	p.rate = c.newRate("rate", d.Rate)
	p.sourceRate = c.newRate("source_rate", d.SourceRate)
	if d.SourceRate != nil && d.Source == "" {
		c.Add("source_rate", "needs a source, which identifies the senders")
	}
	p.clientRate = c.newRate("client_rate", d.ClientRate)
	p.replies = c.newReplies(d.Replies)
	p.replyForm = c.newReplyForm(d.Replies)
}

// itemPath returns the path from the body to the event within it. If a signature names its fields, there is only one.
func itemPath(d *definition.Batch) string {
	switch {
	case d == nil || d.Items == "":
		return ""
	case d.Items == ".":
		return "0"
	}
	return d.Items + ".0"
}

// identityOf returns the paths within the body that type, key and versions are read from.
func identityOf(p *Provider) [][]string {
	var paths [][]string
	for _, x := range slices.Concat(p.mapping.KeyExpressions(), []*jq.Expression{p.typeOf}, p.mapping.Versions()) {
		if x != nil {
			paths = append(paths, x.Dependencies.Fields...)
		}
	}
	return paths
}

// projectionOf returns what the ingress reads of a body: type, source, keys, and fields that must not be repeated. It is
// everything if one of the expressions isn't made of paths.
func projectionOf(p *Provider) decode.Projection {
	paths := slices.Clone(p.decoders.Identity)
	for _, x := range append(p.mapping.KeyExpressions(), p.typeOf, p.sourceOf) {
		switch {
		case x == nil || !x.Dependencies.Body:
		case x.Paths == nil:
			return nil
		default:
			paths = append(paths, x.Dependencies.Fields...)
		}
	}
	w := decode.Projection{}
	for _, path := range paths {
		if len(path) == 0 {
			return nil
		}
		w.Add(path)
	}
	return w
}
