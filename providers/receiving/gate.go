package receiving

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/providers/auth"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
	"holdfast/providers/mapping"
)

// Gate decides which requests of a provider are let in, and how they are answered. It is immutable and safe for concurrent use.
type Gate struct {
	*auth.Authenticator

	paths      []auth.Path
	kept       mapping.ReceiptFields
	decoders   *decode.Decoders
	challenges []challenge
	rate       *Rate
	sourceRate *Rate
	clientRate *Rate
	replies    Replies
	replyForm  *answerForm // nil for the usual body
	questions  []question
	takesGet   bool // a signed GET is an event
	queues     []Queue
	written    *definition.Definition
}

// compiler compiles a definition's rules for requests.
type compiler struct{ *mapping.Compiler }

// New compiles the rules for requests, and reports every problem. It sets what the compiler knows about authentication and about
// the parts of a request that are kept: the rules that are compiled later need both. The decoders may still change.
func New(to *mapping.Compiler, d *definition.Definition, decoders *decode.Decoders) *Gate {
	c := compiler{to}
	g := &Gate{decoders: decoders, written: d}
	g.paths, c.PathParams = auth.NewPaths(&c.Problems, d.Name, d.Paths)
	if d.BodyLimit < 0 || d.BodyLimit > definition.MaxBodyLimit {
		c.Add("body_limit", "want 1 to %d bytes", definition.MaxBodyLimit)
	}
	c.CheckMaximum("maximum", d.Maximum)
	c.checkToken(d)
	c.checkHash(d)
	g.takesGet = c.OneOf("get", d.Get, getRefused, getEvents) == getEvents
	if d.Gzip != "" {
		c.OneOf("gzip", d.Gzip, definition.GzipPlain, definition.GzipWire)
	}
	g.queues = c.newQueues(d)
	g.Authenticator = c.newAuthenticator(d, g.paths).Reading(decoders)
	c.Coverage = g.Coverage()
	if g.takesGet {
		c.checkGet(g)
	}
	c.ReceiptFields = mapping.NewReceiptFields(&c.Problems, d.Keep, g.Authenticator)
	g.challenges = c.newChallenges(d.Challenges, g.paths) // first, since later expressions must not see their tokens
	g.kept = c.ReceiptFields
	g.questions = c.newQuestions(d.Questions, decoders)
	g.rate = c.newRate("rate", d.Rate)
	g.sourceRate = c.newRate("source_rate", d.SourceRate)
	if d.SourceRate != nil && d.Source == "" {
		c.Add("source_rate", "needs a source, which identifies the senders")
	}
	g.clientRate = c.newRate("client_rate", d.ClientRate)
	g.replies = c.newReplies(d.Replies)
	g.replyForm = c.newReplyForm(d.Replies)
	return g
}

// checkToken requires that events are read from the token that authentication verifies, and from nothing else.
func (c compiler) checkToken(d *definition.Definition) {
	verified, read := map[string]bool{}, map[string]bool{}
	if len(d.Auth) == 0 { // it only reads queues
		verified[""] = true
	}
	for _, s := range d.Auth {
		path := ""
		if s.JWT != nil {
			path = s.JWT.Payload
		}
		verified[path] = true
	}
	for _, rule := range d.Decode {
		if rule.As == "jwt" {
			rule.JWTField = "."
		}
		read[rule.JWTField] = true
	}
	if len(d.Decode) == 0 {
		read[""] = true
	}
	if (!verified[""] || !read[""]) && (len(verified) > 1 || !maps.Equal(verified, read)) {
		c.Add("decode", "must read the token that each of auth[].jwt.payload verifies: as: jwt if that is the body, otherwise "+
			"jwt_field with the same path")
	}
	if d.Batch != nil && !verified[""] {
		c.Add("batch", "a token is one event")
	}
}

// checkHash requires JSON after a plain hash that begins with the secret: a sender of one can append to the body, but only bytes
// that are no JSON.
func (c compiler) checkHash(d *definition.Definition) {
	for i, s := range d.Auth {
		isOther := func(rule definition.Decode) bool { return rule.As != "" && rule.As != "json" }
		if s.Hash != nil && !strings.HasSuffix(s.Hash.Signed, "{secret}") && slices.ContainsFunc(d.Decode, isOther) {
			c.Add(fmt.Sprintf("auth[%d].hash.signed", i), "without {secret} at its end the body can be made longer: want JSON alone")
		}
	}
}

// Bound returns a copy with secrets. Without secrets it authenticates no request.
func (g *Gate) Bound(s auth.Secrets) *Gate {
	with := *g
	with.Authenticator, with.challenges = g.WithSecrets(s), changed(g.challenges, func(a *auth.Authenticator) *auth.Authenticator {
		return a.WithSecrets(s)
	})
	return &with
}

// Certified returns a copy that fetches certificates with get.
func (g *Gate) Certified(get auth.Certificates) *Gate {
	with := *g
	with.Authenticator = g.WithCertificates(get)
	return &with
}

// Keyed returns a copy that finds published keys with get.
func (g *Gate) Keyed(get auth.KeySets) *Gate {
	with := *g
	with.Authenticator, with.challenges = g.WithKeySets(get), changed(g.challenges, func(a *auth.Authenticator) *auth.Authenticator {
		return a.WithKeySets(get)
	})
	return &with
}

// Limited returns a copy with a rate, unless its definition has one, or explicitly none.
func (g *Gate) Limited(r *Rate) *Gate {
	if g.written.Rate != nil {
		return g
	}
	with := *g
	with.rate = r
	return &with
}

// SecretNames returns the references to secrets in the definition, including its handshakes.
func (g *Gate) SecretNames() []string { return SecretNames(g.written, g.paths) }

// SecretNames returns the names of the secrets of a definition's schemes and handshakes, which needn't be compiled.
func SecretNames(d *definition.Definition, paths []auth.Path) []string {
	var p definition.Problems // reported when the definition is compiled
	names := auth.New(&p, d.Auth, d.Secrets, paths).SecretNames()
	for _, ch := range d.Challenges {
		if ch.Auth != nil {
			names = append(names, auth.NewOne(&p, "", *ch.Auth, paths).SecretNames()...)
		}
	}
	return names
}

// Routes returns the provider's paths; the first is /webhooks/NAME. Don't change them.
func (g *Gate) Routes() []auth.Path { return g.paths }

// Paths returns the templates of the provider's paths.
func (g *Gate) Paths() []string {
	out := make([]string, len(g.paths))
	for i := range g.paths {
		out[i] = g.paths[i].Template
	}
	return out
}

// HasPath reports whether a path, as sent, is one of the provider's.
func (g *Gate) HasPath(path string) bool {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	return slices.ContainsFunc(g.paths, func(one auth.Path) bool {
		_, ok := one.Match(segments)
		return ok
	})
}

// HeaderNames returns the headers that the definition names, in lower case: those that authenticate, and those that it keeps.
func (g *Gate) HeaderNames() []string {
	names, _, _ := g.Hidden()
	return append(append(names, g.Coverage().Headers...), g.kept.HeaderNames()...)
}

// Conditions returns the conditions of the handshakes. One that fails doesn't hold.
func (g *Gate) Conditions() (conditions []*jq.Expression) {
	for i := range g.challenges {
		conditions = append(conditions, g.challenges[i].when)
	}
	return conditions
}
