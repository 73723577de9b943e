package lint

import (
	"fmt"
	"slices"

	"holdfast/event"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// fewSamples is the minimum number of events that a definition should show.
const fewSamples = 3

// checkEvidence checks for what a reader needs to trust a definition: its sources, the reasons for its key, and events that
// show both. For users' own definitions it is only advice.
func (l *linter) checkEvidence() {
	if len(l.written.Sources) == 0 {
		l.advise("sources", RuleUnsourced,
			"is missing: name the documentation, the library or the published signatures that it is made from")
	}
	for _, name := range l.written.Why.Missing() {
		l.advise("why."+name, RuleUnexplained, "is missing")
	}
	if len(l.written.Samples) == 0 || l.shown.requests == 0 {
		return // already reported
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
			"have no two events of one entity: add them, so that a key that is too coarse is found")
	}
}

// sampledEvent contains the parts of a sample's event that the checks need.
type sampledEvent struct {
	keys     []string
	entities []event.EntityRef
}

// sampled returns an event of each sample, all about one entity; handshakes have none.
func (l *linter) sampled(id func(i int) string) (events []sampledEvent) {
	for i, name := range l.samples() {
		r, err := l.provider.Sample(name, id(i), lintTime)
		if err == nil && l.isOpen(r) || err != nil || signForLint(l.trial, r) != nil {
			continue // reported by checkSample
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

// twoShare reports whether two samples have the same entity but no key part in common.
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

// advise reports a problem of a built-in definition, and advice for any other.
func (l *linter) advise(field string, rule Rule, format string, args ...any) {
	l.addAdvice(l.provider.Origin() != definition.OriginBuiltIn, field, rule, format, args...)
}
