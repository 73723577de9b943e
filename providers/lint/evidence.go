package lint

import (
	"fmt"
	"slices"

	"holdfast/event"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// fewSamples is how many events a definition shows at least.
const fewSamples = 3

// checkEvidence looks for what a reader needs who has to believe a definition: where it comes from, why its key is the key, and
// events that show both. People may leave it out of their own definitions, so that it is advice there.
func (l *linter) checkEvidence() {
	if len(l.written.Sources) == 0 {
		l.advise("sources", RuleUnsourced,
			"is missing: name the documentation, the library or the published signatures that it is made from")
	}
	for _, name := range l.written.Why.Missing() {
		l.advise("why."+name, RuleUnexplained, "is missing")
	}
	if len(l.written.Samples) == 0 {
		return // which is told already
	}
	x, err := jq.Compile("type", string(l.written.Type))
	if err == nil && x != nil && x.Dependencies.OnlyBody() && !x.Dependencies.Body {
		return // all events are of one type
	}
	events := l.sampled(func(int) string { return "same" })
	if len(events) < fewSamples {
		l.advise("samples", RuleFewSamples, "are %d: show %d events at least", len(events), fewSamples)
	}
	if !twoShare(events) && !twoShare(l.sampled(func(i int) string { return fmt.Sprintf("lint%d", i) })) {
		l.advise("samples", RuleFewSamples,
			"have no two different events about one entity: a key that takes them for one would not show")
	}
}

// sampledEvent is what the lint wants of a sample's events.
type sampledEvent struct {
	keys     []string
	entities []event.EntityRef
}

// sampled makes an event of each sample, all of them about one entity; handshakes are none.
func (l *linter) sampled(id func(i int) string) (events []sampledEvent) {
	for i, name := range l.provider.SampleTypes() {
		r, err := l.provider.Sample(name, id(i), lintTime)
		if err == nil && l.isOpen(r) || err != nil || signForLint(l.trial, r) != nil {
			continue // checkSample says so
		}
		if _, handshake := l.trial.Challenge(r, lintTime); handshake {
			continue
		}
		items, _ := l.provider.Split(r)
		var one sampledEvent
		for k := range items {
			e, _ := explain(l.provider, &items[k], r.Covered(), lintTime)
			one.keys = append(one.keys, e.Key)
			for _, c := range e.Changes {
				one.entities = append(one.entities, event.EntityRef{Kind: c.Kind, ExternalID: c.ExternalID})
			}
		}
		events = append(events, one)
	}
	return events
}

// twoShare reports whether two samples name one entity and have nothing of their keys in common.
func twoShare(events []sampledEvent) bool {
	for i, one := range events {
		for _, other := range events[:i] {
			if overlaps(one.entities, other.entities) && !overlaps(one.keys, other.keys) {
				return true
			}
		}
	}
	return false
}

func overlaps[T comparable](some, others []T) bool {
	return slices.ContainsFunc(some, func(v T) bool { return slices.Contains(others, v) })
}

// advise notes what a built-in definition must have, and what is left to the writer of any other.
func (l *linter) advise(field string, rule Rule, format string, args ...any) {
	before := len(l.found)
	l.add(field, rule, format, args...)
	for i := before; i < len(l.found); i++ {
		l.found[i].Advice = l.provider.Origin() != definition.OriginBuiltIn
	}
}
