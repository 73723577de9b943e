package providers

import (
	"fmt"
	"maps"

	"holdfast/providers/auth"
	"holdfast/providers/definition"
	"holdfast/providers/reading"
	"holdfast/providers/receiving"
	"holdfast/providers/recovery"
)

// Provider is one compiled definition. It joins what receives requests, what reads events from them, and what asks the provider's
// API. It is immutable and safe for concurrent use.
type Provider struct {
	*receiving.Gate
	*reading.Reader
	*recovery.API

	apiRate *receiving.Rate
	replay  Replay
	samples map[string]sample
	// file is the effective definition, after everything that it extends; written is its parsed form.
	file    definition.File
	written *definition.Definition
	digest  string // of the effective definition
}

// Name returns the definition's name, which is a part of every workflow ID.
func (p *Provider) Name() string { return p.written.Name }

// Title returns the provider's display name; it may be empty.
func (p *Provider) Title() string { return p.written.Title }

// Bound returns a copy with secrets. Without secrets it authenticates no request.
func (p *Provider) Bound(s auth.Secrets) *Provider { return p.with(p.Gate.Bound(s)) }

// Certified returns a copy that fetches certificates with get.
func (p *Provider) Certified(get auth.Certificates) *Provider { return p.with(p.Gate.Certified(get)) }

// Keyed returns a copy that finds published keys with get.
func (p *Provider) Keyed(get auth.KeySets) *Provider { return p.with(p.Gate.Keyed(get)) }

// Limited returns a copy with a rate, unless its definition has one, or explicitly none.
func (p *Provider) Limited(r *receiving.Rate) *Provider { return p.with(p.Gate.Limited(r)) }

func (p *Provider) with(g *receiving.Gate) *Provider {
	with := *p
	with.Gate = g
	return &with
}

// Evidence returns how well the definition is known to match the sender; "" if it names no sources.
func (p *Provider) Evidence() definition.Evidence { return p.written.Evidence() }

// Digest returns a short hash of the effective definition. Two providers with the same one identify events alike.
func (p *Provider) Digest() string { return p.digest }

// File returns the name of the definition's file, without its folder.
func (p *Provider) File() string { return p.file.Name }

// Text returns the content of the definition's file, without what it extends.
func (p *Provider) Text() []byte { return p.file.Text }

// Written returns the effective definition, after everything that it extends. Don't change it.
func (p *Provider) Written() *definition.Definition { return p.written }

// Replay returns the provider's automatic replay settings.
func (p *Provider) Replay() Replay { return p.replay }

// APIRate limits the requests of all processes to the provider's API; nil if the definition has none.
func (p *Provider) APIRate() *receiving.Rate { return p.apiRate }

// Definition returns the effective definition, after everything that it extends, as YAML in the order of the reference.
func (p *Provider) Definition() ([]byte, error) {
	tree := maps.Clone(p.file.Tree)
	delete(tree, "extends")
	text, err := definition.Write(tree)
	if err != nil {
		return nil, fmt.Errorf("write definition of %s: %w", p.Name(), err)
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
