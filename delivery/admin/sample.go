package admin

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/providers"
	"holdfast/providers/definition"
	"holdfast/providers/reading"
)

// Samples turn the samples of definitions into events.
type Samples struct {
	Names  func() []string
	Lookup func(name string) (*providers.Provider, bool)
}

// All returns every sample that the providers and types select, in the order of the catalogue. There may be none.
func (s Samples) All(e delivery.Events) (all []delivery.Message, err error) {
	for _, name := range s.Names() {
		p, ok := s.Lookup(name)
		if !ok || len(e.Providers) > 0 && !slices.Contains(e.Providers, name) {
			continue
		}
		for _, sample := range p.SampleTypes() {
			if !selects(e.Types, providers.SampleEvent(sample)) {
				continue
			}
			m, err := sampleOf(p, sample)
			if err != nil {
				return nil, err
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// Of returns the events of a body that a provider could send: for the chosen type, or else for the only one that the
// subscription names.
func (s Samples) Of(e delivery.Events, which Choice) (all []delivery.Message, err error) {
	name := which.Provider
	if name == "" && len(e.Providers) == 1 {
		name = e.Providers[0]
	}
	p, ok := s.Lookup(name)
	if !ok {
		return nil, event.Rejectf("invalid_event", "name the provider of this event (--sender): %q is none", name)
	}
	now, id := time.Now().UTC(), uuid.Must(uuid.NewV7()).String()
	r, _, _ := p.Envelope("", id)
	r.Body = which.Body
	items, err := p.Split(r)
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		m := messageOf(item, id, now)
		parsed, err := p.Parse(m.Receipt, item.Body)
		if err != nil {
			return nil, event.Rejectf("invalid_event", "%s: such an event of %s becomes a dead letter before it is delivered", err, name)
		}
		m.Type, m.OccurredAt = parsed.Type, parsed.OccurredAt
		all = append(all, m)
	}
	if len(all) == 0 {
		return nil, event.Rejectf("invalid_event", "the body has no event of %s", name)
	}
	return all, nil
}

// none returns the finding if the providers and types have no sample. Types that a definition doesn't fix, such as those of
// events that your own services publish, may be right without a sample.
func (s Samples) none(e delivery.Events) delivery.Finding {
	open := len(e.Providers) == 0
	for _, name := range e.Providers {
		p, ok := s.Lookup(name)
		if !ok {
			return delivery.Finding{About: "events", Text: "unknown provider " + name + ": check its spelling"}
		}
		open = open || p.Name() == ownEvents || p.Extends() == ownEvents || len(p.SampleTypes()) == 0
	}
	const noSample = "no definition has a sample of an event that matches its providers and types"
	if !open {
		return delivery.Finding{About: "events", Text: noSample + ": check their spelling, or give an event with --file or --event"}
	}
	text := "not checked: " + noSample + ". Types of your own have none: give an event with --file or --event"
	return delivery.Finding{About: "events", OK: true, Text: text}
}

// ownEvents is the provider of events that the user's own services publish, under their own types.
const ownEvents = "events"

func messageOf(item reading.Item, id string, now time.Time) delivery.Message {
	item.ID, item.ReceivedAt = id, now
	return delivery.Message{Receipt: item.Receipt, Type: item.Type, OccurredAt: now, Body: item.Body}
}

func selects(patterns []string, eventType string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		return definition.NewGlob(pattern).Match(eventType)
	})
}

// sampleOf returns the event of a sample as it would be stored now.
func sampleOf(p *providers.Provider, sample string) (m delivery.Message, err error) {
	now := time.Now().UTC()
	id := uuid.Must(uuid.NewV7()).String()
	r, err := p.Sample(sample, strings.ReplaceAll(id, "-", "")[20:], now)
	if err != nil {
		return m, err
	}
	items, err := p.Split(r)
	if err != nil {
		return m, err
	}
	for _, item := range items {
		if item.Type != providers.SampleEvent(sample) {
			continue
		}
		return messageOf(item, id, now), nil
	}
	return m, event.Rejectf("invalid_event", "the sample %s of %s has no event of this type", sample, p.Name())
}
