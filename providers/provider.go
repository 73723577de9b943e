package providers

import (
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
)

// Provider is one compiled definition. It is immutable and safe for concurrent use.
type Provider struct {
	*auth.Authenticator

	name             string
	paths            []auth.Path
	kept             mapping.ReceiptFields
	decoders         decode.Decoders
	batch            []string
	challenges       []challenge
	typeOf, sourceOf *jq.Expression
	needsType        bool // an event without a type is a dead letter
	refusals         []refusal
	mapping          mapping.Set
	redelivery       Redelivery
	redrive          Redrive
	typeLabels       typeLabels
	rate             *Rate
	sourceRate       *Rate
	clientRate       *Rate
	replies          Replies
	replyForm        *answerForm // nil: the usual body
	questions        []question
	redact           *jq.Expression
	samples          map[string]sample
	// file has the definition as it applies, after all that it extends; written is the same, read.
	file    definition.File
	written *definition.Definition
}

// Redelivery says what a redelivery of an event does whose run has failed.
type Redelivery string

// The ways to treat a redelivery of an event that has died.
const (
	// RunAgain starts the event again, under the same event ID.
	RunAgain Redelivery = ""
	// RejectRedelivery leaves it to the operators.
	RejectRedelivery Redelivery = "reject"
)

// Name is the definition's name, and a part of every workflow ID.
func (p *Provider) Name() string { return p.name }

// Title is the provider's name for people; it may be empty.
func (p *Provider) Title() string { return p.written.Title }

// Bound is the same provider with secrets. Without them it authenticates nobody.
func (p *Provider) Bound(s auth.Secrets) *Provider {
	with := *p
	with.Authenticator, with.challenges = p.WithSecrets(s), withSecrets(p.challenges, s)
	return &with
}

// Certified is the same provider with what fetches certificates.
func (p *Provider) Certified(get auth.Certificates) *Provider {
	with := *p
	with.Authenticator = p.WithCertificates(get)
	return &with
}

// Limited is the same provider with a rate, unless its definition has one, or none on purpose.
func (p *Provider) Limited(r *Rate) *Provider {
	if p.written.Rate != nil {
		return p
	}
	with := *p
	with.rate = r
	return &with
}

// SecretNames are the references to secrets that the definition makes, those of its handshakes included.
func (p *Provider) SecretNames() []string { return secretNames(p.written, p.paths) }

// Evidence is how sure it is that the definition is what the sender does; "" if it names no sources.
func (p *Provider) Evidence() definition.Evidence { return p.written.Evidence() }

// File is the name of the definition's file, without its folder.
func (p *Provider) File() string { return p.file.Name }

// Written is the definition as it applies, after all that it extends. Nobody changes it.
func (p *Provider) Written() *definition.Definition { return p.written }

// Paths are the templates of the paths under which the provider is reached; the first is /webhooks/NAME.
func (p *Provider) Paths() []string {
	out := make([]string, len(p.paths))
	for i := range p.paths {
		out[i] = p.paths[i].Template
	}
	return out
}

// ItemPath leads from the body to the event within it, "" where that is the body.
func (p *Provider) ItemPath() string { return itemPath(p.written.Batch) }

// HasPath says whether a path, as it was sent, is one of the provider's.
func (p *Provider) HasPath(path string) bool {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	return slices.ContainsFunc(p.paths, func(one auth.Path) bool {
		_, ok := one.Match(segments)
		return ok
	})
}

// HeaderNames are the headers that the definition speaks of, in lower case: those that authenticate, and those that it keeps.
func (p *Provider) HeaderNames() []string {
	names, _, _ := p.Hidden()
	return append(append(names, p.Coverage().Headers...), p.kept.HeaderNames()...)
}

// BodyLimit is in bytes; 0 where the definition declares none and the ingress's own holds.
func (p *Provider) BodyLimit() int { return p.written.BodyLimit }

// Replies is the table of statuses.
func (p *Provider) Replies() Replies { return p.replies }

// AckStatus is the status of the reply to an event that was accepted.
func (p *Provider) AckStatus() int { return p.replies.Accepted }

// Redrive is when dead events of this provider are run again by themselves.
func (p *Provider) Redrive() Redrive { return p.redrive }

// Rate bounds the requests to this provider; nil if they are not bounded.
func (p *Provider) Rate() *Rate { return p.rate }

// SourceRate bounds the requests of one source; nil if they are not bounded.
func (p *Provider) SourceRate() *Rate { return p.sourceRate }

// ClientRate bounds the requests of one client address; nil if they are not bounded.
func (p *Provider) ClientRate() *Rate { return p.clientRate }

// Policy is the retry policy of a type of event.
func (p *Provider) Policy(eventType string) event.Policy { return p.mapping.For(eventType).Policy }

// ContentOf returns the hash of a body, in hex, that is part of the key of an event of this type, if its key is guessed.
func (p *Provider) ContentOf(eventType string, body []byte) string {
	return p.mapping.For(eventType).ContentOf(body)
}

// DedupeWindow is how long a redelivery of an event of this type is a duplicate; 0 means for ever.
func (p *Provider) DedupeWindow(eventType string) event.Duration {
	return p.mapping.For(eventType).Dedupe
}

// Redelivery says what a redelivery of an event does whose run has failed.
func (p *Provider) Redelivery() Redelivery { return p.redelivery }

// Definition is the definition as it applies, after all that it extends, as YAML in the order of the reference.
func (p *Provider) Definition() ([]byte, error) {
	tree := maps.Clone(p.file.Tree)
	delete(tree, "extends")
	text, err := definition.Write(tree)
	if err != nil {
		return nil, fmt.Errorf("write definition of %s: %w", p.name, err)
	}
	return text, nil
}

// Extends is the name of the definition that this one extends; "" if it extends none.
func (p *Provider) Extends() string {
	name, _ := p.file.Tree["extends"].(string)
	return name
}

// Tree is the definition as it applies: maps, lists and scalars.
func (p *Provider) Tree() map[string]any { return p.file.Tree }

// Replaced says which lists of the definition that it extends it takes the place of.
func (p *Provider) Replaced() []string { return p.file.Replaced }

// Origin says where the definition comes from.
func (p *Provider) Origin() definition.Origin { return p.file.Origin }
