package providers

import (
	"slices"
	"strings"
	"time"

	"holdfast/providers/definition"
)

// OtherType is the label of all event types that a definition doesn't name.
const OtherType = "other"

// typeLabels are the types that a definition names, for metrics: senders can invent any number of others.
type typeLabels struct {
	names    map[string]bool
	patterns []definition.Glob
}

// newTypeLabels collects them from all lists of types. A lone star names nothing. The types of samples are added later.
func newTypeLabels(d *definition.Definition) typeLabels {
	l := typeLabels{names: map[string]bool{}}
	for _, o := range d.Overrides {
		l.add(o.Types)
		l.addEntities(o.Entities)
	}
	l.addEntities(d.Entities)
	for _, q := range d.Questions {
		l.add(q.Types)
	}
	return l
}

func (l *typeLabels) addAll(types []string) {
	for _, t := range types {
		l.names[t] = true
	}
}

func (l *typeLabels) addEntities(entities []definition.Entity) {
	for i := range entities {
		l.add(entities[i].Types)
		l.add(entities[i].DeleteOn)
	}
}

func (l *typeLabels) add(types []string) {
	for _, t := range types {
		switch {
		case !strings.Contains(t, "*"):
			l.names[t] = true
		case strings.Trim(t, "*") != "":
			l.patterns = append(l.patterns, definition.NewGlob(t))
		}
	}
}

// sampleTime is the time of the samples whose types are read.
var sampleTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// typesOfSamples returns the types of all events of the samples: a batch has several, and a sample's name is only one of them.
func (p *Provider) typesOfSamples() (types []string) {
	for name := range p.samples {
		types = append(types, SampleEvent(name))
		r, err := p.Sample(name, "x", sampleTime)
		if err != nil {
			continue
		}
		items, err := p.Split(r)
		if err != nil {
			continue
		}
		for _, item := range items {
			types = append(types, item.Type)
		}
	}
	return slices.DeleteFunc(types, func(t string) bool { return t == "" })
}

// TypeLabel returns the metric label of an event type: the type if the definition names it, else the first pattern of the
// definition that it matches, else OtherType.
func (p *Provider) TypeLabel(eventType string) string {
	if p.typeLabels.names[eventType] {
		return eventType
	}
	for _, pattern := range p.typeLabels.patterns {
		if pattern.Match(eventType) {
			return pattern.Text()
		}
	}
	return OtherType
}
