package providers

import (
	"strings"

	"holdfast/providers/definition"
)

// OtherType stands for all types of event that a definition does not name.
const OtherType = "other"

// typeLabels are the types that a definition names, for metrics: senders may invent as many others as they like.
type typeLabels struct {
	names    map[string]bool
	patterns []definition.Glob
}

// newTypeLabels collects them from the samples and from wherever types are listed. A star alone names nothing.
func newTypeLabels(d *definition.Definition) typeLabels {
	l := typeLabels{names: map[string]bool{}}
	for name := range d.Samples {
		l.names[name] = true
	}
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

// TypeLabel is the type of an event as metrics have it: itself where the definition names it, else the first pattern of the
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
