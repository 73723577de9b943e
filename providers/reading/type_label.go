package reading

import (
	"maps"
	"slices"
	"strings"

	"holdfast/providers/definition"
)

// OtherType is the label of all event types that a definition doesn't name.
const OtherType = "other"

// maxTypeLabels is how many types and patterns of a definition become labels. Each is a histogram for each outcome: 10,000 types
// would make 50 MB of metrics.
const maxTypeLabels = 500

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

// NamedTypes returns the types that the definition and its samples name without a pattern.
func (p *Reader) NamedTypes() []string { return slices.Collect(maps.Keys(p.typeLabels.names)) }

// NameTypes adds types that the definition's samples, or those of the definition that it extends, name. Call it before the first
// event.
func (p *Reader) NameTypes(types []string) {
	for _, t := range types {
		p.typeLabels.names[t] = true
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

// TypeLabel returns the metric label of an event type: the type if the definition names it, else the first pattern of the
// definition that it matches, else OtherType. If the definition names more than maxTypeLabels, all are OtherType.
func (p *Reader) TypeLabel(eventType string) string {
	if len(p.typeLabels.names)+len(p.typeLabels.patterns) > maxTypeLabels {
		return OtherType
	}
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
