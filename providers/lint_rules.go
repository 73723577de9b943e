package providers

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/event"
)

// unreached notes a rule that no event can reach.
func (l *linter) unreached(field, format string, args ...any) {
	l.add(field, RuleUnreachable, "no event can reach it: "+format, args...)
}

// checkOverrides looks for overrides, and types of one, that an earlier override takes away: the first that fits applies.
func (l *linter) checkOverrides() {
	for i, o := range l.provider.overrides {
		field := fmt.Sprintf("overrides[%d]", i)
		var alone []string
		for k, t := range o.types {
			if j := l.coveringOverride(i, t); j >= 0 {
				alone = append(alone, fmt.Sprintf("%s.types[%d]", field, k))
				continue
			}
			if slices.ContainsFunc(o.types[:k], func(earlier glob) bool { return earlier.covers(t) }) {
				l.unreached(fmt.Sprintf("%s.types[%d]", field, k), "an earlier type of the list covers %q", t.text())
			}
		}
		if len(alone) == len(o.types) {
			l.unreached(field, "overrides[%d] covers it", l.coveringOverride(i, o.types[0]))
			continue
		}
		for _, one := range alone {
			l.unreached(one, "an earlier override covers it")
		}
	}
}

// coveringOverride is the first override before n that covers the type, or -1.
func (l *linter) coveringOverride(n int, t glob) int {
	return slices.IndexFunc(l.provider.overrides[:n], func(o override) bool { return anyCovers(o.types, t) })
}

// checkLane looks for a priority above that of the lane: what is urgent must not wait for a batch.
func (l *linter) checkLane(at string, r *rules) {
	if r.lane == LaneBulk && r.priority != event.PriorityNormal {
		l.add(at+"lane", RuleIneffective, "bulk takes no account of the priority %s: it holds for the events that leave their batch",
			r.priority)
	}
}

// checkRetry looks for delays behind the last attempt.
func (l *linter) checkRetry(at string, r *rules) {
	if unused := len(r.policy.Delays) - (r.policy.Attempts - 1); unused > 0 {
		l.add(at+"retry.delays", RuleIneffective, "%d attempts have %d pauses between them: the last %d of the list are never used",
			r.policy.Attempts, r.policy.Attempts-1, unused)
	}
}

// checkEntities looks at one list of entity rules, which applies to the types `within` (nil: to all).
func (l *linter) checkEntities(field string, rules []entityRule, within []glob) {
	for i := range rules {
		at := fmt.Sprintf("%s[%d]", field, i)
		e := &rules[i]
		l.checkScope(at, e)
		if !anyOverlaps(e.types, within) {
			l.unreached(at+".types", "the override is for other types")
		}
		for k, t := range e.deleteOn {
			one := []glob{t}
			if !anyOverlaps(one, e.types) || !anyOverlaps(one, within) {
				l.unreached(fmt.Sprintf("%s.delete_on[%d]", at, k), "the rule is for other types")
			}
		}
		for j := range rules[:i] {
			if rules[j].shadows(e) {
				l.unreached(at, "%s[%d] names the same entity first", field, j)
				break
			}
		}
	}
}

// checkScope looks for a rule that takes what two sources say of two things for what is said of one.
func (l *linter) checkScope(at string, e *entityRule) {
	if l.provider.sourceOf != nil && e.scope == scopeUntold {
		l.add(at+".scope", RuleUnscoped, "is missing: events come from several sources, so say `source`, or `provider` where "+
			"an ID is unique over all of them")
	}
}

// checkVersions looks for changes without a version of a kind whose others have one. They come before all of those, whenever they
// occur, so that a later one shows in nothing. A mention changes nothing wherever it stands.
func (l *linter) checkVersions() {
	versioned := map[string]bool{}
	l.eachEntity(func(_ string, e *entityRule) { versioned[e.kind] = versioned[e.kind] || e.version != nil })
	l.eachEntity(func(at string, e *entityRule) {
		if e.version == nil && !e.onlyMentions() && e.kind != "" && versioned[e.kind] {
			l.add(at+".version", RuleUnversioned, "is missing: other rules of kind %q have one, and what has none comes before all of "+
				"theirs", e.kind)
		}
	})
}

// eachEntity visits the rules of the definition and of its overrides.
func (l *linter) eachEntity(visit func(at string, e *entityRule)) {
	visitAll := func(field string, rules []entityRule) {
		for i := range rules {
			visit(fmt.Sprintf("%s[%d]", field, i), &rules[i])
		}
	}
	visitAll("entities", l.provider.base.entities)
	for i, o := range l.provider.overrides {
		if !sameRules(o.rules.entities, l.provider.base.entities) {
			visitAll(fmt.Sprintf("overrides[%d].entities", i), o.rules.entities)
		}
	}
}

// onlyMentions tells whether no event of the rule changes anything.
func (e *entityRule) onlyMentions() bool {
	return e.op == event.OpPatch && e.state == nil && len(e.deleteOn) == 0
}

// shadows tells whether e names every entity that other names.
func (e *entityRule) shadows(other *entityRule) bool {
	return e.when == nil && e.scope == other.scope && e.kind == other.kind && e.kindFrom.text() == other.kindFrom.text() &&
		e.id.text() == other.id.text() && e.each.text() == other.each.text() && coveredBy(other.types, e.types)
}

// checkBaseEntities looks for entity rules all of whose types belong to overrides with entities of their own.
func (l *linter) checkBaseEntities() {
	for i, e := range l.provider.base.entities {
		if len(e.types) > 0 && !slices.ContainsFunc(e.types, l.reachesBase) {
			l.unreached(fmt.Sprintf("entities[%d]", i), "overrides with entities of their own cover its types")
		}
	}
}

// reachesBase tells whether some event of the type is mapped by the definition's own entities.
func (l *linter) reachesBase(t glob) bool {
	for i := range l.provider.overrides {
		o := &l.provider.overrides[i]
		replaces := o.rules.ignore || !sameRules(o.rules.entities, l.provider.base.entities)
		switch {
		case !replaces && anyOverlaps(o.types, []glob{t}):
			return true
		case replaces && anyCovers(o.types, t):
			return false
		}
	}
	return true
}

// sameRules tells whether an override has kept the entities of the definition.
func sameRules(some, others []entityRule) bool {
	return len(some) == len(others) && (len(some) == 0 || &some[0] == &others[0])
}

func (l *linter) checkQuestions() {
	var earlier []glob
	for i, q := range l.provider.questions {
		if len(earlier) > 0 && coveredBy(q.types, earlier) {
			l.unreached(fmt.Sprintf("questions[%d]", i), "earlier questions cover its types")
		}
		earlier = append(earlier, q.types...)
	}
}

func (l *linter) checkDecoders() {
	seen := map[string]bool{}
	for i, d := range l.provider.decoders {
		if seen[d.contentType] {
			l.unreached(fmt.Sprintf("decode[%d]", i), "an earlier rule reads %s", d.contentType)
		}
		seen[d.contentType] = true
	}
}

// checkUnsigned looks for types, sources and entities that come from what one of the schemes does not cover: with one signed body
// anybody could make any of them. Keys like that are refused by the compiler.
func (l *linter) checkUnsigned() {
	if l.provider.unsigned {
		return
	}
	l.checkCovered(l.provider.typeOf)
	l.checkCovered(l.provider.sourceOf)
	for _, r := range l.provider.allRules() {
		for i := range r.entities {
			e := &r.entities[i]
			for _, x := range []*expression{e.when, e.each, e.kindFrom, e.id, e.state, e.version} {
				l.checkCovered(x)
			}
		}
	}
}

func (l *linter) checkCovered(x *expression) {
	if x == nil {
		return
	}
	for _, s := range l.provider.schemes {
		for _, what := range s.covers().uncovered(x.reads) {
			l.add(x.field, RuleUnsigned, "reads %s, which no signature covers: take it from the body, or say why not under `unsigned`",
				what)
		}
	}
}

// checkSecrets looks at the secrets that are configured: what is not configured at all is nobody's mistake. A secret that one
// of the schemes can use may be of no use to another.
func (l *linter) checkSecrets() {
	for _, name := range l.provider.SecretNames() {
		given := l.provider.rawSecrets(name)
		for _, s := range given {
			switch {
			case strings.TrimSpace(s) == "":
				l.add("", RuleSecret, "the secret %s is empty or cannot be read: it authenticates nobody", name)
			case IsPlaceholder(s):
				l.add("", RuleSecret, "the secret %s is a placeholder that everybody knows: it authenticates nobody", name)
			case isShortSecret(s) && !l.isNetwork(name):
				l.add("", RuleSecret, "the secret %s has fewer than %d characters: it authenticates nobody", name, minSecret)
			}
		}
		if len(given) > 0 && l.unusable(name) {
			l.add("", RuleSecret, "the secret %s is not in the form that the scheme needs", name)
		}
	}
}

// isNetwork tells whether a reference names networks, which are as short as they are.
func (l *linter) isNetwork(name string) bool {
	return slices.ContainsFunc(l.provider.schemes, func(s scheme) bool {
		_, is := s.(*addressScheme)
		return is && s.reference() == name
	})
}

func (l *linter) unusable(name string) bool {
	for _, s := range l.provider.schemes {
		if s.reference() == name && reasonOf(s.ready(l.provider)) != ReasonUnusableSecret {
			return false
		}
	}
	return true
}
