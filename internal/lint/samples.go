package lint

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/definition"
	"holdfast/providers/reading"
)

// lintTime is the time of the samples. It is fixed, so that the findings are.
var lintTime = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

// lintSecrets fit every scheme.
func lintSecrets(string) []string { return append(auth.TrialSecrets(), lintAddress.String()) }

// lintAddress is the source address of the samples.
var lintAddress = netip.MustParseAddr("192.0.2.1")

// rulesOfSamples are the rules whose violation makes a sample's events differ from the definition's claims.
var rulesOfSamples = []Rule{RuleSampleFails, RuleSampleType, RuleSharedKey}

// FailingSamples runs the samples of all definitions that aren't built in. A finding means that events like the sample become
// dead letters, have another type, or are dropped as duplicates of others.
func FailingSamples(c *providers.Catalogue) []Finding {
	var found []Finding
	for _, name := range c.OwnNames() {
		p, _ := c.Lookup(name)
		l := newLinter(p)
		l.checkSamples()
		found = append(found, l.found...)
	}
	return slices.DeleteFunc(found, func(f Finding) bool { return !slices.Contains(rulesOfSamples, f.Rule) })
}

// Regression refuses a catalogue with samples that fail and didn't fail before, so that other problems can still be corrected.
// The error joins a *definition.Error for each.
func Regression(next, current *providers.Catalogue) error {
	failing := FailingSamples(next)
	if len(failing) == 0 {
		return nil
	}
	before := FailingSamples(current)
	var errs []error
	for _, f := range failing {
		if !slices.Contains(before, f) {
			errs = append(errs, &definition.Error{File: f.File, Field: f.Field, Reason: f.Message})
		}
	}
	return errors.Join(errs...)
}

// Refused returns the problems that make a reload refuse a changed definition: samples that fail, and don't fail with the current
// one. It stops running the samples after limit, 0 for never.
func Refused(problems []Finding, current *providers.Provider, limit time.Duration) []Finding {
	refused := slices.DeleteFunc(slices.Clone(problems), func(f Finding) bool { return !slices.Contains(rulesOfSamples, f.Rule) })
	if len(refused) == 0 {
		return nil
	}
	before, _ := Problems(current, limit)
	return slices.DeleteFunc(refused, func(f Finding) bool { return slices.Contains(before, f) })
}

// checkSamples processes every sample like the ingress and the parse step.
func (l *linter) checkSamples() {
	if len(l.written.Samples) == 0 {
		l.add("samples", RuleNoSamples, "is missing: without an event of each kind nothing of the definition can be tried")
	}
	keys := map[string]string{}
	for i, name := range l.samples() {
		for k := range 2 {
			if !l.checkSample(name, fmt.Sprintf("lint%dx%d", i, k), keys) {
				break // the second event of a sample would fail like the first
			}
		}
	}
}

// checkSample returns false if something is wrong with the sample.
func (l *linter) checkSample(name, id string, keys map[string]string) bool {
	field := fmt.Sprintf("samples[%q]", name)
	r, err := l.provider.Sample(name, id, lintTime)
	if err != nil {
		l.add(field, RuleSampleFails, "cannot be made: %s", err.Error())
		return false
	}
	before := len(l.found)
	if l.isOpen(r) {
		return true
	}
	if err := signForLint(l.trial, r); err != nil {
		l.add(field, RuleSampleFails, "could not be sent: %s", err.Error())
		return false
	}
	if _, handshake := l.trial.Challenge(r, lintTime); handshake {
		return true
	}
	l.shown.requests++
	items, err := l.provider.Split(r)
	if err != nil {
		l.add(field, RuleSampleFails, "takes too long to evaluate")
		return false
	}
	if why := reading.RefusedFor(items); why != "" {
		l.add(field, RuleSampleFails, "is refused: %s", why)
		return false
	}
	var types []string
	for i := range items {
		if l.late() {
			return false
		}
		e, silent := explain(l.provider, &items[i], r.Covered(), lintTime)
		types = append(types, e.Type)
		l.checkEvent(field, &items[i], e, silent)
		l.applied.add(name, e.Entities)
		l.shown.add(name, &items[i], e)
		if other, exists := keys[e.Key]; exists {
			l.add(field, RuleSharedKey, "%s", sharedKey(name, other))
		}
		keys[e.Key] = name
	}
	if len(l.found) == before && !slices.ContainsFunc(types, func(t string) bool { return names(name, t) }) {
		l.add(field, RuleSampleType, "is of type %s: name the sample after its type, or TYPE of something",
			strings.Join(types, ", "))
	}
	return len(l.found) == before
}

// isOpen reports whether a request is a handshake without authentication.
func (l *linter) isOpen(r *auth.Request) bool {
	_, is, err := l.provider.Handshake(r, lintTime)
	return is && err == nil
}

// names reports whether a sample is named after a type.
func names(sample, eventType string) bool {
	return eventType == sample || eventType == providers.SampleEvent(sample)
}

func sharedKey(name, other string) string {
	const consequence = "have one key, so that the second would be dropped as a duplicate of the first"
	if name == other {
		return "two events of it with different ids " + consequence
	}
	return fmt.Sprintf("it and the sample %q %s", other, consequence)
}

// checkEvent records the failures of one event of a sample.
func (l *linter) checkEvent(field string, item *reading.Item, e ExplainedEvent, silent []string) {
	if e.DeadLetter != nil {
		l.add(field, RuleSampleFails, "becomes a dead letter: %s", e.DeadLetter.Text())
		return
	}
	for _, part := range e.KeyParts {
		if part.Failed {
			l.add(part.Field, RuleSampleFails, "fails on %s, where it should give nothing: add a ? after what may not be there", field)
		}
	}
	for _, expression := range silent {
		l.add(expression, RuleSampleFails, "fails on %s", field)
	}
	if _, err := l.provider.Redact(item.Receipt, item.Body); err != nil {
		l.add("redact", RuleSampleFails, "fails on %s", field)
	}
}

// signForLint signs a sample with the first scheme that can. The error is a *denial.Error.
func signForLint(trial *providers.Provider, r *auth.Request) error {
	r.RemoteIP = lintAddress
	if err := trial.SignWithSecrets(r, lintTime); err != nil {
		return err
	}
	return trial.Authenticate(r, lintTime)
}
