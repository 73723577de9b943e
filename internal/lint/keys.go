package lint

import (
	"fmt"
	"slices"
	"time"

	"holdfast/providers/decode"
	"holdfast/providers/definition"
)

// checkKeys gives advice about the keys of a definition and their windows.
func (l *linter) checkKeys() {
	d := l.written
	l.checkKey("", d.Key, d.Dedupe)
	for i, o := range d.Overrides {
		if o.Key != nil || o.Dedupe != nil {
			l.checkKey(fmt.Sprintf("overrides[%d].", i), orElse(o.Key, d.Key), orElse(o.Dedupe, d.Dedupe))
		}
	}
}

func orElse[T any](p, other *T) *T {
	if p != nil {
		return p
	}
	return other
}

func (l *linter) checkKey(at string, k *definition.Key, dedupe *definition.Duration) {
	if k == nil {
		return
	}
	if k.InDoubt != "" && k.Delivery == "" && k.RetrySpan == nil && k.FallbackWindow == nil && l.written.Why.Retry == "" {
		l.hint(at+"key.retry_span", RuleRetryFacts,
			"is missing: without it and without a delivery ID, retries that come after an hour count as other events")
	}
	l.checkCounter(at, k)
	l.checkParts(at, k)
	if k.Certainty == guessed || dedupe == nil || *dedupe == 0 {
		return // a guessed key has no such window
	}
	tolerance, signedTime := l.signedTime()
	switch {
	case signedTime && time.Duration(*dedupe) < tolerance:
		l.add(at+"dedupe", RuleShortWindow,
			"is shorter than the timestamp tolerance of %s: a request can be replayed in between", tolerance)
	case !signedTime && l.provider.Origin() != definition.OriginBuiltIn: // their windows follow the provider's documentation
		l.hint(at+"dedupe", RuleReplay,
			"ends, and no signature covers a time: a captured request can be replayed later. Use forever if the ID is never reused")
	}
}

const guessed = "guessed"

// signedTime returns the longest tolerance of the signature schemes; ok is false if one of them signs no time.
func (l *linter) signedTime() (longest time.Duration, ok bool) {
	for _, s := range l.written.Auth {
		for _, one := range signingsOf(s) {
			if one.Timestamp == nil {
				return 0, false
			}
			if one.Timestamp.Tolerance != nil {
				longest = max(longest, time.Duration(*one.Timestamp.Tolerance))
			}
		}
	}
	return longest, true
}

// signingsOf returns the signature of a scheme. Without one, a scheme proves nothing that could be replayed except the secret
// itself.
func signingsOf(s definition.Scheme) []definition.Signing {
	switch {
	case s.HMAC != nil:
		return []definition.Signing{s.HMAC.Signing}
	case s.Ed25519 != nil:
		return []definition.Signing{s.Ed25519.Signing}
	case s.ECDSA != nil:
		return []definition.Signing{s.ECDSA.Signing}
	case s.RSA != nil:
		return []definition.Signing{s.RSA.Signing}
	}
	return nil
}

// counters are field names for delivery attempt counters.
var counters = []string{
	"attempt", "attempts", "attempt_number", "delivery_attempt", "delivery_attempts", "retry", "retries", "retry_count",
	"retry_number",
}

// checkCounter looks for an attempt counter in a sample whose hash is part of the key.
func (l *linter) checkCounter(at string, k *definition.Key) {
	hashed := k.Certainty == guessed || k.Fallback != "" ||
		slices.ContainsFunc(k.Parts, func(p definition.Part) bool { return p.Expr == "body_sha256" })
	if !hashed || slices.Contains(k.Varies, "*") {
		return
	}
	for _, name := range l.samples() {
		r, err := l.provider.Sample(name, "lint", lintTime)
		if err != nil {
			continue // reported by checkSample
		}
		body, _ := decode.JSONExactly(r.Body)
		fields, _ := body.(map[string]any)
		for field := range fields {
			if isCounter(field) && !slices.Contains(k.Varies, field) {
				l.hint(at+"key.varies", RuleCounter, "lacks %q, which counts attempts: each retry would have a key of its own", field)
			}
		}
	}
}

// isCounter recognizes camel case, too.
func isCounter(field string) bool { return isNamed(field, counters) }

// hint records advice, also for built-in definitions.
func (l *linter) hint(field string, rule Rule, format string, args ...any) {
	l.addAdvice(true, field, rule, format, args...)
}

func (l *linter) addAdvice(isAdvice bool, field string, rule Rule, format string, args ...any) {
	before := len(l.found)
	l.add(field, rule, format, args...)
	for i := before; i < len(l.found); i++ {
		l.found[i].Advice = isAdvice
	}
}
