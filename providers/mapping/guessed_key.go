package mapping

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"holdfast/event"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// retryMargin is added to the documented span of a provider's retries.
const retryMargin = event.Duration(time.Hour)

// The certainties of a key, and what happens to an event that may repeat another one.
const (
	certain = "certain"
	guessed = "guessed"
	accept  = "accept"
	hold    = "hold"
)

// setCertainty sets the certainty of a key. A definition that doesn't state it keeps its previous key.
func (c *Compiler) setCertainty(field string, d *definition.Key, k *keyRule) {
	says := d.Certainty != ""
	if says {
		k.guessed = c.OneOf(field+".certainty", d.Certainty, certain, guessed) == guessed
		k.certain = !k.guessed
	}
	if k.certain && len(d.Parts) == 0 {
		c.Add(field+".certainty", "is certain, but the key has no parts: name the ID in parts, or say guessed")
	}
	if d.InDoubt != "" {
		k.repeats = &event.Repeats{Hold: c.OneOf(field+".in_doubt", d.InDoubt, accept, hold) == hold, Flood: d.Flood}
	}
	switch {
	case k.guessed && k.repeats == nil:
		c.Add(field+".in_doubt", "is missing: a guessed key needs accept or hold")
	case !says && k.repeats != nil:
		c.Add(field+".certainty", "is missing: in_doubt needs certain or guessed")
	case k.certain && k.repeats != nil && d.Fallback == "":
		c.Add(field+".in_doubt", "has no effect: every key of this definition is certain")
	}
	if d.Hash != "" {
		hash := c.OneOf(field+".hash", d.Hash, "bytes", "json", "php_json")
		k.ofValue, k.forPHP = strings.HasSuffix(hash, "json"), hash == "php_json"
		if k.repeats == nil {
			c.Add(field+".hash", "has no effect: only guessed keys use it")
		}
	}
	if d.Flood < 0 {
		c.Add(field+".flood", "must be at least 1")
	}
	if d.RetrySpan != nil && k.repeats == nil {
		c.Add(field+".retry_span", "has no effect: only guessed keys use it")
	}
	if k.repeats != nil {
		c.setGuessedWindow(field, d, k)
	}
	if d.Before == nil {
		return
	}
	if d.Before.Certainty != "" || d.Before.Before != nil {
		c.Add(field+".before", "is the key of an earlier release: leave out certainty and before")
	}
	k.before = c.newKey(field+".before", d.Before)
}

// setGuessedWindow sets how long a guessed key without a delivery ID counts. A provider that sends equal bytes for different
// events by design, such as a call that only says "fetch this again", can have a fallback_window that is shorter than its retry
// span.
func (c *Compiler) setGuessedWindow(field string, d *definition.Key, k *keyRule) {
	k.span = retryMargin
	if d.RetrySpan != nil {
		k.span += event.Duration(*d.RetrySpan)
	}
	if d.FallbackWindow != nil {
		k.span = event.Duration(*d.FallbackWindow)
		switch {
		case k.repeats.Hold:
			c.Add(field+".fallback_window", "needs in_doubt: accept. To hold repeats, give the provider's retry_span instead")
		case d.RetrySpan != nil:
			c.Add(field+".fallback_window", "and retry_span exclude each other: remove one")
		case k.span <= 0:
			c.Add(field+".fallback_window", "must be finite: two events can have equal guessed keys")
		}
	}
	for _, path := range d.Varies {
		if path == everything && k.guessed {
			c.Add(field+".varies", "can't be * in a guessed key: no part of the body would be left to distinguish events")
		}
	}
	if d.Delivery != "" && d.Unsigned == "" && !c.Coverage.All {
		c.Add(field+".unsigned", "is missing: say why the delivery ID may be used although the signature does not cover it")
	}
}

// guess returns a key that may belong to two events: its parts, the sender's delivery ID if there is one, and the hash of the
// body. Deliveries with equal keys are indistinguishable.
func (k *keyRule) guess(ctx context.Context, in jq.Input, scope string, body []byte) (Identity, error) {
	var texts []string
	if k.guessed { // the headers, and the readable part of an invalid body, also distinguish events
		for _, part := range k.parts {
			v, err := part.expr.First(ctx, in, nil)
			if jq.IsDeadline(err) {
				return Identity{}, err
			}
			s, _ := jq.Text(v)
			texts = append(texts, s)
		}
	}
	v, err := k.fingerprint.delivery.First(ctx, in, nil)
	if jq.IsDeadline(err) {
		return Identity{}, err
	}
	id := Identity{From: event.KeyFromBody, Window: k.span}
	id.Content, id.OfValue = k.contentOf(scope, body)
	if name, _ := jq.Text(v); name != "" {
		texts, id.Window = append(texts, CleanText(name, maxFingerprint)), 0
	}
	if id.Key = bodyKeyPrefix + id.Content; len(texts) > 0 {
		id.Key = joinKey(append(texts, id.Content))
	}
	return id, nil
}

// ContentOf returns the hash of a body, in hex, as in a guessed key whose source is in the body.
func (r *Rules) ContentOf(body []byte) string {
	if r.key == nil {
		return hashOf("", body)
	}
	content, _ := r.key.contentOf("", body)
	return content
}

// contentOf returns the hash of a body without what varies between deliveries, and whether it hashed the JSON value.
func (k *keyRule) contentOf(scope string, body []byte) (sum string, ofValue bool) {
	if k.ofValue {
		return k.valueHash(scope, body)
	}
	if len(k.fingerprint.varies) == 0 || k.fingerprint.ignored {
		return hashOf(scope, body), false
	}
	h := sha256.New()
	if scope != "" {
		fmt.Fprintf(h, "%d:%s", len(scope), scope)
	}
	if !decode.WriteWithout(h, body, k.fingerprint.varies) {
		return hashOf(scope, body), false
	}
	return hex.EncodeToString(h.Sum(nil)), false
}

// valueHash returns the hash of the JSON value of a body without what varies; that of the bytes if they aren't JSON, or
// ambiguous.
func (k *keyRule) valueHash(scope string, body []byte) (sum string, ofValue bool) {
	v, err := decode.JSONUnambiguously(body)
	if err != nil {
		return hashOf(scope, body), false
	}
	h := sha256.New()
	if scope != "" {
		fmt.Fprintf(h, "%d:%s", len(scope), scope)
	}
	_ = decode.WriteValue(h, v, k.fingerprint.varies, k.forPHP) // a hash never fails
	return hex.EncodeToString(h.Sum(nil)), true
}
