package reading

import (
	"encoding/json"
	"maps"
	"slices"

	"holdfast/event"
	"holdfast/providers/definition"
)

// maxRelated bounds the entities related to one.
const maxRelated = 100

// Related returns the entities that an entity's state links to. Events that name only those don't change the entity itself;
// readers of the entity read them as well. So the order of events about the entity and its links doesn't matter.
func (p *Reader) Related(e event.Entity) (refs []event.EntityRef) {
	kinds := map[string]string{}
	for _, rule := range p.entityRules() {
		if rule.Kind == e.Kind {
			maps.Copy(kinds, rule.Related)
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	var state map[string]json.RawMessage
	if json.Unmarshal(e.State, &state) != nil {
		return nil
	}
	for _, field := range slices.Sorted(maps.Keys(kinds)) {
		var named map[string]json.RawMessage
		_ = json.Unmarshal(state[field], &named) // a value that isn't an object names nothing
		for _, id := range slices.Sorted(maps.Keys(named)) {
			if len(refs) == maxRelated {
				return refs
			}
			refs = append(refs, event.EntityRef{Provider: e.Provider, Kind: kinds[field], ExternalID: id})
		}
	}
	return refs
}

// Kinds returns the kinds of entities that the definition names. isOpen means that there may be others, since a rule computes
// its kind.
func (p *Reader) Kinds() (names []string, isOpen bool) {
	for _, rule := range p.entityRules() {
		if rule.Kind == "" {
			isOpen = true
		} else {
			names = append(names, rule.Kind)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), isOpen
}

// entityRules returns the entity rules of all event types.
func (p *Reader) entityRules() []definition.Entity {
	rules := slices.Clone(p.written.Entities)
	for _, o := range p.written.Overrides {
		rules = append(rules, o.Entities...)
	}
	return rules
}
