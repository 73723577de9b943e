package desk

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/providers"
	"holdfast/providers/definition"
)

// Samples make events of the samples of definitions.
type Samples struct {
	// Names and Lookup are those of a catalogue.
	Names  func() []string
	Lookup func(name string) (*providers.Provider, bool)
}

// All makes every sample that the providers and types select, in the order of the catalogue. There may be none.
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

func selects(patterns []string, eventType string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		return definition.NewGlob(pattern).Match(eventType)
	})
}

// sampleOf is the event of a sample as it would be stored now.
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
		receipt := event.Receipt{
			ID: id, Provider: p.Name(), Source: item.Source, Key: item.Key, KeyFrom: item.KeyFrom, Type: item.Type, ReceivedAt: now,
			Headers: item.Headers, Query: item.Query, Path: item.Path, Root: item.Root,
		}
		return delivery.Message{Receipt: receipt, Type: item.Type, OccurredAt: now, Body: item.Body}, nil
	}
	return m, event.Rejectf("invalid_event", "the sample %s of %s has no event of this type", sample, p.Name())
}
