package providers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
	"holdfast/providers/mapping"
	"holdfast/providers/recovery"
)

// Provider is one compiled definition. It is immutable and safe for concurrent use.
type Provider struct {
	*auth.Authenticator

	name             string
	paths            []auth.Path
	kept             mapping.ReceiptFields
	decoders         decode.Decoders
	batch            []string
	parts            decode.PartLists // without paths, events are not cut
	challenges       []challenge
	typeOf, sourceOf *jq.Expression
	needsType        bool // an event without a type becomes a dead letter
	refusals         []refusal
	bodiless         map[string]bodiless
	mapping          mapping.Set
	// rejectsRedelivery leaves an event whose run has failed to the operators: a redelivery doesn't start it again.
	rejectsRedelivery bool
	replay            Replay
	typeLabels        typeLabels
	rate              *Rate
	sourceRate        *Rate
	clientRate        *Rate
	replies           Replies
	replyForm         *answerForm // nil for the usual body
	questions         []question
	redact            *jq.Expression
	samples           map[string]sample
	recovery          *recovery.List // nil if the provider has no list of events
	fetches           []*recovery.Fetch
	apiRate           *Rate
	// file has the effective definition, after everything that it extends; written is its parsed form.
	file    definition.File
	written *definition.Definition
	digest  string // of the effective definition
}

// Name returns the definition's name, which is a part of every workflow ID.
func (p *Provider) Name() string { return p.name }

// Title returns the provider's display name; it may be empty.
func (p *Provider) Title() string { return p.written.Title }

// Bound returns a copy with secrets. Without secrets it authenticates no request.
func (p *Provider) Bound(s auth.Secrets) *Provider {
	with := *p
	with.Authenticator, with.challenges = p.WithSecrets(s), withSecrets(p.challenges, s)
	return &with
}

// Certified returns a copy that fetches certificates with get.
func (p *Provider) Certified(get auth.Certificates) *Provider {
	with := *p
	with.Authenticator = p.WithCertificates(get)
	return &with
}

// Limited returns a copy with a rate, unless its definition has one, or explicitly none.
func (p *Provider) Limited(r *Rate) *Provider {
	if p.written.Rate != nil {
		return p
	}
	with := *p
	with.rate = r
	return &with
}

// SecretNames returns the references to secrets in the definition, including its handshakes.
func (p *Provider) SecretNames() []string { return secretNames(p.written, p.paths) }

// Evidence returns how well the definition is known to match the sender; "" if it names no sources.
func (p *Provider) Evidence() definition.Evidence { return p.written.Evidence() }

// Digest returns a short hash of the effective definition. Two providers with the same one identify events alike.
func (p *Provider) Digest() string { return p.digest }

// File returns the name of the definition's file, without its folder.
func (p *Provider) File() string { return p.file.Name }

// Written returns the effective definition, after everything that it extends. Don't change it.
func (p *Provider) Written() *definition.Definition { return p.written }

// Paths returns the templates of the provider's paths; the first is /webhooks/NAME.
func (p *Provider) Paths() []string {
	out := make([]string, len(p.paths))
	for i := range p.paths {
		out[i] = p.paths[i].Template
	}
	return out
}

// ItemPath returns the path from the body to the event within it, "" if that is the body.
func (p *Provider) ItemPath() string { return itemPath(p.written.Batch) }

// HasPath reports whether a path, as sent, is one of the provider's.
func (p *Provider) HasPath(path string) bool {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	return slices.ContainsFunc(p.paths, func(one auth.Path) bool {
		_, ok := one.Match(segments)
		return ok
	})
}

// HeaderNames returns the headers that the definition names, in lower case: those that authenticate, and those that it keeps.
func (p *Provider) HeaderNames() []string {
	names, _, _ := p.Hidden()
	return append(append(names, p.Coverage().Headers...), p.kept.HeaderNames()...)
}

// BodyLimit returns how many bytes a body may have. A definition's own limit is its body_limit, or else the documented maximum
// of its sender; the others have a default, which ceiling lowers (0: it doesn't). Without a usable secret no request can be
// authentic, and a large body is only memory that strangers could use.
func (p *Provider) BodyLimit(ceiling int) int {
	limit := p.written.BodyLimit
	if limit == 0 {
		limit = lowered(BodyLimit, ceiling)
		if m := p.written.Maximum; m != nil {
			limit = min(max(BodyLimit, m.Bytes), MaxBodyLimit)
		}
	}
	if limit > OpenBodyLimit && p.HasNoSecret() {
		return lowered(OpenBodyLimit, ceiling)
	}
	return limit
}

// OpenLimit returns how many bytes a body may have whose provider is unknown.
func OpenLimit(ceiling int) int { return lowered(OpenBodyLimit, ceiling) }

func lowered(limit, ceiling int) int {
	if ceiling > 0 {
		return min(limit, ceiling)
	}
	return limit
}

// Replies returns the table of statuses.
func (p *Provider) Replies() Replies { return p.replies }

// AckStatus returns the status of the reply to an accepted event.
func (p *Provider) AckStatus() int { return p.replies.Accepted }

// Replay returns the provider's automatic replay settings.
func (p *Provider) Replay() Replay { return p.replay }

// Rate limits the requests to this provider; nil for no limit.
func (p *Provider) Rate() *Rate { return p.rate }

// SourceRate limits the requests of one source; nil for no limit.
func (p *Provider) SourceRate() *Rate { return p.sourceRate }

// ClientRate limits the requests of one client address; nil for no limit.
func (p *Provider) ClientRate() *Rate { return p.clientRate }

// Recovery returns the provider's list of events, from which missed events can be recovered; nil if the definition has none.
func (p *Provider) Recovery() *recovery.List { return p.recovery }

// Fetches returns the GETs for the current state of what events name, in the order of the definition.
func (p *Provider) Fetches() []*recovery.Fetch { return p.fetches }

// APIRate limits the requests of all processes to the provider's API; nil if the definition has none.
func (p *Provider) APIRate() *Rate { return p.apiRate }

// Policy returns the retry policy of an event type.
func (p *Provider) Policy(eventType string) event.Policy { return p.mapping.For(eventType).Policy }

// SameValue reports whether the bodies of two events of a type are one JSON value, written in different ways. A large body waits
// for its turn (see decode.Turn).
func (p *Provider) SameValue(ctx context.Context, eventType string, a, b []byte) bool {
	done, err := decode.Turn(ctx, max(len(a), len(b)))
	if err != nil {
		return false
	}
	defer done()
	return p.mapping.For(eventType).SameValue(a, b)
}

// ContentOf returns the hash of a body, in hex, that is part of the key of an event of this type, if its key is guessed.
func (p *Provider) ContentOf(eventType string, body []byte) string {
	return p.mapping.For(eventType).ContentOf(body)
}

// DedupeWindow returns how long a redelivery of an event of this type is a duplicate; 0 means forever.
func (p *Provider) DedupeWindow(eventType string) event.Duration {
	return p.mapping.For(eventType).Dedupe
}

// DedupeWindows returns the shortest and the longest window of all event types, where 0 means forever, and a text that differs
// whenever a window or its types do.
func (p *Provider) DedupeWindows() (shortest, longest event.Duration, all string) {
	return p.mapping.Windows()
}

// RejectsRedelivery reports whether a redelivery leaves an event whose run has failed to the operators. Otherwise it starts the
// event again, under the same event ID.
func (p *Provider) RejectsRedelivery() bool { return p.rejectsRedelivery }

// Definition returns the effective definition, after everything that it extends, as YAML in the order of the reference.
func (p *Provider) Definition() ([]byte, error) {
	tree := maps.Clone(p.file.Tree)
	delete(tree, "extends")
	text, err := definition.Write(tree)
	if err != nil {
		return nil, fmt.Errorf("write definition of %s: %w", p.name, err)
	}
	return text, nil
}

// Extends returns the name of the definition that this one extends; "" for none.
func (p *Provider) Extends() string {
	name, _ := p.file.Tree["extends"].(string)
	return name
}

// Tree returns the effective definition: maps, lists and scalars.
func (p *Provider) Tree() map[string]any { return p.file.Tree }

// Replaced returns which lists it replaces of the definition that it extends.
func (p *Provider) Replaced() []string { return p.file.Replaced }

// Origin returns where the definition comes from.
func (p *Provider) Origin() definition.Origin { return p.file.Origin }
