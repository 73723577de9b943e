package reading

import (
	"context"
	"slices"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
	"holdfast/providers/mapping"
	"holdfast/providers/recovery"
)

// Reader reads events from the requests of a provider. It is immutable and safe for concurrent use.
type Reader struct {
	name     string
	digest   string // of the effective definition
	coverage auth.Coverage
	kept     mapping.ReceiptFields
	decoders *decode.Decoders
	batch    []string
	parts    decode.PartLists // without paths, events are not cut

	typeOf, sourceOf *jq.Expression
	needsType        bool // an event without a type becomes a dead letter
	refusals         []refusal
	bodiless         map[string]bodiless
	mapping          mapping.Set
	fetches          []*recovery.Fetch
	// rejectsRedelivery leaves an event whose run has failed to the operators: a redelivery doesn't start it again.
	rejectsRedelivery bool
	typeLabels        typeLabels
	redact            *jq.Expression
	// conditions, of handshakes and refusals, don't hold if they fail.
	conditions []*jq.Expression
	written    *definition.Definition
}

// compiler compiles a definition's rules for events.
type compiler struct{ *mapping.Compiler }

// New compiles the rules for events, and reports every problem. conditions are those of the definition's handshakes. The
// decoders learn which fields identify an event.
func New(
	to *mapping.Compiler, d *definition.Definition, digest string, decoders *decode.Decoders, fetches []*recovery.Fetch,
	conditions []*jq.Expression,
) *Reader {
	c := compiler{to}
	p := &Reader{
		name: d.Name, digest: digest, coverage: c.Coverage, kept: c.ReceiptFields, decoders: decoders, fetches: fetches,
		conditions: conditions, written: d,
	}
	p.batch, p.parts = c.newBatch(d.Batch), c.newParts(d.Batch)
	c.HasParts = p.parts.Size > 1
	c.Item = itemPath(d.Batch)
	c.Required("type", string(d.Type))
	p.typeOf = c.Expression("type", d.Type)
	p.needsType = c.OneOf("untyped", d.Untyped, "accept", "reject") == "reject"
	p.sourceOf = c.Expression("source", d.Source)
	c.HasSource, c.Fetches = d.Source != "", len(d.Fetch) > 0
	c.DeletesGone = slices.ContainsFunc(d.Fetch, func(f definition.Fetch) bool { return f.Gone == "delete" })
	p.refusals = c.newRefusals(d.Refuse)
	for _, r := range p.refusals {
		p.conditions = append(p.conditions, r.when)
	}
	p.bodiless = c.newBodiless(d)
	p.rejectsRedelivery = c.OneOf("redelivery", d.Redelivery, "run_again", "reject") == "reject"
	p.mapping = c.Compile(d)
	p.decoders.Identity = identityOf(p)
	p.decoders.Projection = projectionOf(p)
	p.redact = c.newRedaction(slices.Concat(d.Redact, tokensInBody(d.Auth)))
	p.typeLabels = newTypeLabels(d)
	return p
}

// ItemPath returns the path from the body to the event within it, "" if that is the body.
func (p *Reader) ItemPath() string { return itemPath(p.written.Batch) }

// Policy returns the retry policy of an event type.
func (p *Reader) Policy(eventType string) event.Policy { return p.mapping.For(eventType).Policy }

// SameValue reports whether the bodies of two events of a type are one JSON value, written in different ways. A large body waits
// for its turn (see decode.Turn).
func (p *Reader) SameValue(ctx context.Context, eventType string, a, b []byte) bool {
	done, err := decode.Turn(ctx, max(len(a), len(b)))
	if err != nil {
		return false
	}
	defer done()
	return p.mapping.For(eventType).SameValue(a, b)
}

// ContentOf returns the hash of a body, in hex, that is part of the key of an event of this type, if its key is guessed.
func (p *Reader) ContentOf(eventType string, body []byte) string {
	return p.mapping.For(eventType).ContentOf(body)
}

// DedupeWindow returns how long a redelivery of an event of this type is a duplicate; 0 means forever.
func (p *Reader) DedupeWindow(eventType string) event.Duration {
	return p.mapping.For(eventType).Dedupe
}

// DedupeWindows returns the shortest and the longest window of all event types, where 0 means forever, and a text that differs
// whenever a window or its types do.
func (p *Reader) DedupeWindows() (shortest, longest event.Duration, all string) {
	return p.mapping.Windows()
}

// RejectsRedelivery reports whether a redelivery leaves an event whose run has failed to the operators. Otherwise it starts the
// event again, under the same event ID.
func (p *Reader) RejectsRedelivery() bool { return p.rejectsRedelivery }

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
func identityOf(p *Reader) [][]string {
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
func projectionOf(p *Reader) decode.Projection {
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
