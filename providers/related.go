package providers

import (
	"encoding/json"
	"maps"
	"slices"

	"holdfast/event"
	"holdfast/providers/definition"
)

// maxRelated is the most entities that one leads to.
const maxRelated = 100

// Related are the entities that the state of an entity leads to. What an event says of them alone does not reach the entity
// itself, since it does not name it: whoever reads the entity reads them as well. So it does not matter in which order the
// events came that name the one and the other.
func (p *Provider) Related(e event.Entity) (refs []event.EntityRef) {
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
		_ = json.Unmarshal(state[field], &named) // what is no object names nothing
		for _, id := range slices.Sorted(maps.Keys(named)) {
			if len(refs) == maxRelated {
				return refs
			}
			refs = append(refs, event.EntityRef{Provider: e.Provider, Kind: kinds[field], ExternalID: id})
		}
	}
	return refs
}

// Kinds are the kinds of entities that the definition names. isOpen: there may be others, since a rule computes its kind.
func (p *Provider) Kinds() (names []string, isOpen bool) {
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

// entityRules are those of all types of events.
func (p *Provider) entityRules() []definition.Entity {
	rules := slices.Clone(p.written.Entities)
	for _, o := range p.written.Overrides {
		rules = append(rules, o.Entities...)
	}
	return rules
}
