package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/providers"
	"holdfast/providers/definition"
	"holdfast/providers/mapping"
)

// applied collects what each rule for entities, by its field, found in the samples.
type applied map[string]*attempted

// attempted is whether a rule has changed something in a sample, and otherwise the sample for which it is most likely meant.
type attempted struct {
	has    bool
	sample string
	rule   mapping.ExplainedRule
}

func (a applied) add(sample string, rules []mapping.ExplainedRule) {
	for _, r := range rules {
		known, exists := a[r.Field]
		if !exists {
			known = &attempted{sample: sample, rule: r}
			a[r.Field] = known
		}
		if known.has = known.has || r.Changes > 0; r.IsMeant && !known.rule.IsMeant {
			known.sample, known.rule = sample, r
		}
	}
}

// checkApplied looks for rules for entities that change nothing in any sample: a wrong path gives null, which is no error.
func (l *linter) checkApplied() {
	failed := slices.ContainsFunc(l.found, func(f Finding) bool { return f.Rule == RuleSampleFails })
	if len(l.written.Samples) == 0 || l.shown.requests == 0 || failed {
		return // nothing is known of rules whose samples fail
	}
	l.checkAppliedIn("entities", l.written.Entities)
	for i, o := range l.written.Overrides {
		l.checkAppliedIn(fmt.Sprintf("overrides[%d].entities", i), o.Entities)
	}
}

func (l *linter) checkAppliedIn(field string, rules []definition.Entity) {
	for i := range rules {
		at := fmt.Sprintf("%s[%d]", field, i)
		tried := l.applied[at]
		switch {
		case rules[i].Fetched || tried != nil && tried.has || l.isUnreached(at):
		case tried != nil && tried.rule.IsMeant:
			l.add(at, RuleUnapplied, "applies to no sample: in %q, %s", tried.sample, tried.rule.Reason)
		default:
			l.advise(at, RuleUnapplied, "applies to no sample: add one of an event that it is for")
		}
	}
}

// Unapplied returns the rules for entities that change nothing in the sample that they are for, because a path is wrong. A start
// and a reload accept them: null is no error. If a sample fails, nothing is known of the rules. It stops running the samples
// after limit, 0 for never.
func Unapplied(p *providers.Provider, limit time.Duration) []Finding {
	found, _ := Problems(p, limit)
	return slices.DeleteFunc(found, func(f Finding) bool { return f.Rule != RuleUnapplied })
}

// Problems returns what can't be meant in a definition, without advice. It stops running the samples after limit, 0 for never;
// all is false if it did, and then nothing is reported that the other samples could refute.
func Problems(p *providers.Provider, limit time.Duration) (found []Finding, all bool) {
	l := newLinter(trialOf(p))
	if limit > 0 {
		l.until = time.Now().Add(limit)
	}
	l.checkAll()
	return slices.DeleteFunc(l.found, func(f Finding) bool {
		return f.Advice || f.Rule == RuleSecret // which would be about the secrets of the trial
	}), !l.isLate
}

// isUnreached reports whether it is already known that no event reaches a rule.
func (l *linter) isUnreached(field string) bool {
	return slices.ContainsFunc(l.found, func(f Finding) bool {
		return f.Rule == RuleUnreachable && strings.HasPrefix(f.Field, field)
	})
}
