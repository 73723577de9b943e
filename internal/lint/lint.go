package lint

import (
	"cmp"
	"fmt"
	"iter"
	"time"

	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/definition"
)

// Finding is one remark about a definition.
type Finding struct {
	// File is the name of the file, without its folder.
	File string `json:"file"`
	// Line and Column are its place, from 1; 0 if unknown.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Field is the path to the field; "" for the definition as a whole.
	Field string `json:"field,omitempty"`
	// Rule is the short, stable name of the problem.
	Rule Rule `json:"rule"`
	// Message says what is wrong and what to do instead.
	Message string `json:"message"`
	// Advice is set if the definition may stay as it is.
	Advice bool `json:"advice,omitempty"`
}

// Rule is the kind of a finding.
type Rule string

// The rules. RuleInvalid is for definitions that would be refused at start; the others for those that would not.
const (
	RuleInvalid     Rule = "invalid"
	RuleNoSamples   Rule = "no-samples"
	RuleSampleFails Rule = "sample-fails"
	RuleSampleType  Rule = "sample-type"
	RuleSharedKey   Rule = "shared-key"
	RuleUnreachable Rule = "unreachable"
	RuleIneffective Rule = "ineffective"
	RuleUnscoped    Rule = "unscoped"
	RuleUnfetched   Rule = "unfetched"
	RuleUnapplied   Rule = "unapplied"
	RuleUnversioned Rule = "unversioned"
	RuleUnsigned    Rule = "unsigned"
	RuleSecret      Rule = "secret"
	RuleUnsourced   Rule = "unsourced"
	RuleUnexplained Rule = "unexplained"
	RuleFewSamples  Rule = "few-samples"
	RuleRetryFacts  Rule = "retry-facts"
	RuleShortWindow Rule = "short-window"
	RuleReplay      Rule = "replay"
	RuleCounter     Rule = "retry-counter"
	RuleRecover     Rule = "recover"
	RuleNoInput     Rule = "no-input"
	RuleUntimed     Rule = "untimed"
	RuleUndeleted   Rule = "undeleted"
	RuleUnhidden    Rule = "unhidden"
	RuleCoarseKey   Rule = "coarse-key"
)

// String returns "file:line:column: field: message [rule]", after "advice: " for advice.
func (f Finding) String() string {
	at := f.File + definition.Place{Line: f.Line, Column: f.Column}.String() + ": "
	if f.Advice {
		at = "advice: " + at
	}
	if f.Field != "" {
		at += f.Field + ": "
	}
	return at + f.Message + " [" + string(f.Rule) + "]"
}

// linter collects the findings about one definition.
type linter struct {
	provider *providers.Provider
	// trial is the same provider with secrets that fit every scheme.
	trial   *providers.Provider
	written *definition.Definition
	found   []Finding
	seen    map[string]bool
	applied applied
	shown   shown
	// until is when running samples stops, zero for never; isLate is set once it did.
	until  time.Time
	isLate bool
}

// trialOf returns the provider with secrets that fit every scheme.
func trialOf(p *providers.Provider) *providers.Provider {
	return p.Bound(lintSecrets).Certified(auth.TrialCertificates).Keyed(auth.TrialKeySets)
}

func newLinter(p *providers.Provider) *linter {
	return &linter{provider: p, trial: trialOf(p), written: p.Written(), seen: map[string]bool{}, applied: applied{}}
}

// add records a finding, each once.
func (l *linter) add(field string, rule Rule, format string, args ...any) {
	f := Finding{File: l.provider.File(), Field: field, Rule: rule, Message: fmt.Sprintf(format, args...)}
	if !l.seen[f.String()] {
		l.seen[f.String()] = true
		l.found = append(l.found, f)
	}
}

// findingsOf returns the parts of a valid definition that can't be meant: rules that no event can reach, samples that fail or
// share a key, changes hidden by another rule's version, types and entities from unauthenticated input, and secrets that
// currently authenticate nothing.
func findingsOf(p *providers.Provider) []Finding {
	l := newLinter(p)
	l.checkAll()
	return l.found
}

func (l *linter) checkAll() {
	p, d := l.provider, l.written
	l.checkOverrides()
	l.checkLane("", d.Lane, d.Priority)
	l.checkRetry("", d.Retry)
	l.checkBaseEntities()
	l.checkEntities("entities", d.Entities, nil)
	for i, o := range d.Overrides {
		at := fmt.Sprintf("overrides[%d].", i)
		l.checkLane(at, cmp.Or(o.Lane, d.Lane), cmp.Or(o.Priority, d.Priority))
		l.checkRetry(at, o.Retry)
		l.checkEntities(at+"entities", o.Entities, o.Types)
	}
	l.checkVersions()
	l.checkInputs()
	l.checkQuestions()
	l.checkDecoders()
	l.checkUnsigned()
	for _, problem := range p.SecretProblems() {
		l.add("", RuleSecret, "%s", problem)
	}
	l.checkSamples()
	for _, check := range []func(){l.checkShown, l.checkApplied, l.checkEvidence, l.checkKeys, l.checkRecover} {
		if l.isLate {
			return
		}
		before := len(l.found)
		if check(); l.isLate { // what some of the samples lack, the others may have
			l.found = l.found[:before]
		}
	}
}

// late reports whether the time for running samples is over.
func (l *linter) late() bool {
	l.isLate = l.isLate || !l.until.IsZero() && time.Now().After(l.until)
	return l.isLate
}

// samples returns the names of the samples, as long as there is time to run them.
func (l *linter) samples() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for i, name := range l.provider.SampleTypes() {
			if l.late() || !yield(i, name) {
				return
			}
		}
	}
}
