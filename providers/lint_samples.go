package providers

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
)

// lintTime is when the samples are made, always the same so that the findings are.
var lintTime = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

// lintSecrets fit every scheme: text and base64 after a prefix, base64 alone, and a private key.
var lintSecrets = func() []string {
	key := base64.StdEncoding.EncodeToString([]byte("a secret that is used by nobody."))
	return []string{"whsec_" + key, key, privatePrefix + key}
}()

// FailingSamples runs the samples of all definitions that are not built in. A finding says that events like the sample become
// dead letters, or are dropped as duplicates of others.
func (c *Catalogue) FailingSamples() []Finding {
	var found []Finding
	for _, name := range c.Names() {
		if p := c.providers[name]; p.origin != OriginBuiltIn {
			l := newLinter(p)
			l.checkSamples()
			found = append(found, l.found...)
		}
	}
	return slices.DeleteFunc(found, func(f Finding) bool { return f.Rule != RuleSampleFails && f.Rule != RuleSharedKey })
}

// checkSamples runs every sample through what the ingress and the parse step do.
func (l *linter) checkSamples() {
	if len(l.provider.samples) == 0 {
		l.add("samples", RuleNoSamples, "is missing: without an event of each kind nothing of the definition can be tried")
	}
	keys := map[string]string{}
	for i, name := range l.provider.SampleTypes() {
		for k := range 2 {
			if !l.checkSample(name, fmt.Sprintf("lint%dx%d", i, k), keys) {
				break // the second event of a sample fails like the first
			}
		}
	}
}

// checkReply runs the form of the reply on what it would be made of.
func (l *linter) checkReply() {
	const accepted = `{"ok":true,"queued":true,"request_id":"r","duration_ms":1,"events":[` +
		`{"workflow_id":"p:k","event_id":"e","event_hash":"000000000000","status":"accepted"}]}`
	if _, ok := l.provider.ReplyBody([]byte(accepted)); !ok && l.provider.replyBody != nil {
		l.add("replies.body", RuleSampleFails, "fails on the usual body: the sender would be answered with that one")
	}
}

// checkSample gives false if something is wrong with the sample.
func (l *linter) checkSample(name, id string, keys map[string]string) bool {
	field := fmt.Sprintf("samples[%q]", name)
	r, err := l.provider.Sample(name, id, lintTime)
	if err != nil {
		l.add(field, RuleSampleFails, "cannot be made: %s", err.Error())
		return false
	}
	passed := l.provider.signForLint(r)
	r.passed = passed
	before := len(l.found)
	if _, handshake := l.provider.Challenge(r); handshake {
		return true
	}
	items, err := l.provider.Split(r)
	if err != nil {
		l.add(field, RuleSampleFails, "takes too long to evaluate")
		return false
	}
	var types []string
	for i := range items {
		e := l.provider.explain(&items[i], passed, lintTime)
		types = append(types, e.Type)
		l.checkEvent(field, &items[i], e)
		if other, taken := keys[e.Key]; taken {
			l.add(field, RuleSharedKey, "%s", sharedKey(name, other))
		}
		keys[e.Key] = name
	}
	if len(l.found) == before && !slices.Contains(types, name) {
		l.add(field, RuleSampleType, "is of type %s: name the sample after its type", strings.Join(types, ", "))
	}
	return len(l.found) == before
}

func sharedKey(name, other string) string {
	const consequence = "have one key, so that the second would be dropped as a duplicate of the first"
	if name == other {
		return "two events of it with different ids " + consequence
	}
	return fmt.Sprintf("it and the sample %q %s", other, consequence)
}

// checkEvent notes what fails on one event of a sample.
func (l *linter) checkEvent(field string, item *Item, e ExplainedEvent) {
	if e.DeadLetter != nil {
		l.add(field, RuleSampleFails, "becomes a dead letter: %s (%s)", e.DeadLetter.Message, e.DeadLetter.Code)
		return
	}
	for _, part := range e.KeyParts {
		if part.Failed {
			l.add(part.Field, RuleSampleFails, "fails on %s, where it should give nothing: add a ? after what may not be there", field)
		}
	}
	receipt := item.receipt(l.provider.name, lintTime)
	in, err := l.provider.inputOf(receipt, item.Body)
	if err != nil {
		return // told above
	}
	ctx, cancel := context.WithTimeout(context.Background(), evaluationDeadline)
	defer cancel()
	for _, x := range l.provider.quiet(item.Type) {
		if _, err := x.first(ctx, in, nil); err != nil {
			l.add(x.field, RuleSampleFails, "fails on %s", field)
		}
	}
	if _, err := l.provider.Redact(receipt, item.Body); err != nil {
		l.add("redact", RuleSampleFails, "fails on %s", field)
	}
}

// quiet are the expressions whose failure counts as nothing in a running system, and so would never be noticed.
func (p *Provider) quiet(eventType string) []*expression {
	all := []*expression{p.sourceOf}
	for i := range p.challenges {
		all = append(all, p.challenges[i].when)
	}
	for _, rule := range p.rulesFor(eventType).times {
		all = append(all, rule.expr)
	}
	return slices.DeleteFunc(all, func(x *expression) bool { return x == nil })
}

// signForLint signs with the first scheme that can, and gives it.
func (p *Provider) signForLint(r *Request) scheme {
	for _, s := range p.schemes {
		for _, secret := range lintSecrets {
			if p.signWith(s, r, secret, lintTime) == nil {
				return s
			}
		}
	}
	return p.schemes[0]
}
