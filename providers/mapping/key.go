package mapping

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
	"time"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// defaultFallbackWindow is short, since two equal bodies may be two events.
const defaultFallbackWindow = event.Duration(15 * time.Minute)

// The prefixes of keys that are hashes of the body.
const (
	bodyKeyPrefix    = "sha256:"
	missingKeyPrefix = "missing:"
)

// bodyHash is the fallback, and the key part that is the hash of the body.
const bodyHash = "body_sha256"

// keyRule identifies an event.
type keyRule struct {
	parts     []keyPart
	fallback  bool
	window    event.Duration
	unsigned  bool
	readsBody bool
	// onlyBody means that all parts are paths within the body.
	onlyBody bool
	// hashed means that the hash of the body is the last part.
	hashed      bool
	fingerprint fingerprintRule
	// certain means that the parts identify one event; guessed, that neither the parts nor the fallback do.
	certain, guessed bool
	// repeats is set if some events have a guessed key.
	repeats *event.Repeats
	// ofValue means that the hash in a guessed key is that of the JSON value, not of the bytes; forPHP, that an empty object
	// equals an empty list.
	ofValue, forPHP bool
	span            event.Duration // how long a guessed key without a delivery ID counts
	before          *keyRule       // of the previous release; nil if it was the same
}

type keyPart struct {
	expr     *jq.Expression
	optional bool
}

// Identity is the key of one event.
type Identity struct {
	Key  string
	From event.KeyOrigin
	// Window is how long a redelivery is a duplicate; 0 means forever.
	Window event.Duration
	// Fingerprint is what the deliveries of the event have in common in addition to the key.
	Fingerprint string
	// Certain, Content and Earlier are the receipt's fields.
	Certain bool
	Content string
	Earlier *event.EarlierKey
	// OfValue means that the key contains the hash of the body's JSON value, however it was written.
	OfValue bool
	// isFallback means that the key isn't the definition's, and has a window of its own.
	isFallback bool
}

// Identify returns an event's key, made of what a scheme has proven, unless the definition gives a reason why it needn't be.
// The scope distinguishes equal bodies. The only possible error is context.DeadlineExceeded.
func (r *Rules) Identify(
	ctx context.Context, in jq.Input, proven auth.Coverage, decoded bool, scope string, body []byte,
) (Identity, error) {
	visible := in
	if r.key == nil || !r.key.unsigned && !r.key.onlyBody {
		visible = Within(proven, in)
	}
	id, err := r.key.identify(ctx, visible, decoded, scope, body)
	if err != nil {
		return id, err
	}
	if r.key != nil && id.Content == "" {
		id.Fingerprint, err = r.key.fingerprint.of(ctx, id, in, body)
	}
	if !id.isFallback && id.Content == "" {
		id.Window = r.Dedupe
	}
	if err == nil && r.key != nil && r.key.before != nil {
		id.Earlier, err = r.key.before.earlier(ctx, in, proven, decoded, scope, body)
	}
	return id, err
}

// earlier returns the key of an event by the previous release's rule; nil if that release couldn't distinguish it from others.
func (k *keyRule) earlier(
	ctx context.Context, in jq.Input, proven auth.Coverage, decoded bool, scope string, body []byte,
) (*event.EarlierKey, error) {
	visible := in
	if !k.unsigned && !k.onlyBody {
		visible = Within(proven, in)
	}
	id, err := k.identify(ctx, visible, decoded, scope, body)
	if err != nil || id.From == event.KeyFromNothing {
		return nil, err
	}
	fingerprint, err := k.fingerprint.of(ctx, id, in, body)
	if err != nil || fingerprint == "" {
		return nil, err
	}
	return &event.EarlierKey{Key: id.Key, Fingerprint: fingerprint}, nil
}

// MissingKey returns which part keeps the current rules from giving an event a key, whatever is proven; "" if they give it one.
func (r *Rules) MissingKey(ctx context.Context, in jq.Input, body []byte) (why string, err error) {
	id, err := r.key.identify(ctx, in, true, "", body)
	if err != nil || id.From != event.KeyFromNothing {
		return "", err
	}
	if r.key == nil {
		return noPart, nil
	}
	for _, part := range r.key.parts {
		v, err := part.expr.First(ctx, in, nil)
		if jq.IsDeadline(err) {
			return "", err
		}
		if _, ok := jq.Text(v); ok {
			continue
		}
		if !part.optional {
			return part.expr.NoValue(v, err), nil
		}
		if why == "" {
			why = part.expr.NoValue(v, err)
		}
	}
	return cmp.Or(why, noPart), nil
}

// noPart is why a key is missing that has no parts of its own.
const noPart = "no part of the key has a value"

func (c *Compiler) newKey(field string, d *definition.Key) *keyRule {
	k := &keyRule{unsigned: d.Unsigned != "", window: defaultFallbackWindow, onlyBody: true}
	k.fingerprint = c.newFingerprint(field, d)
	c.setCertainty(field, d, k)
	k.fallback = d.Fallback != "" && c.OneOf(field+".fallback", d.Fallback, bodyHash) != ""
	if d.FallbackWindow != nil {
		k.window = event.Duration(*d.FallbackWindow)
	}
	if len(d.Parts) == 0 && !k.fallback && !k.guessed {
		c.Add(field, "want parts, or a fallback, or both")
	}
	parts := d.Parts
	if n := len(parts); n > 0 && parts[n-1].Expr == bodyHash {
		k.hashed, parts = true, parts[:n-1]
	}
	needed := 0
	for i, part := range parts {
		at := fmt.Sprintf("%s.parts[%d]", field, i)
		c.Required(at, string(part.Expr))
		x := c.Name(at, part.Expr)
		if !k.unsigned {
			c.checkKeyReads(at, x)
		}
		if x != nil && x.Dependencies.Body {
			k.readsBody = true
		}
		k.onlyBody = k.onlyBody && x != nil && len(x.Names) > 0 && x.Names[0] == "body"
		if !part.Optional {
			needed++
		}
		k.parts = append(k.parts, keyPart{expr: x, optional: part.Optional})
	}
	if (k.hashed || k.fallback || k.guessed) && c.Coverage.Body != nil && !k.unsigned {
		c.Add(field, "is made of the hash of a body that the signature does not cover: name the parts that it covers, or say why not "+
			"under `unsigned`")
	}
	if c.HasParts && !k.hashed && !k.fallback && !k.guessed {
		c.Add(field, "needs the hash of the body because of batch.parts, whose events may have all else in common: add body_sha256 to "+
			"parts, or a fallback")
	}
	if len(d.Parts) > 0 && needed == 0 && !k.hashed && !k.guessed {
		c.Add(field+".parts", "are all optional: at least one must identify the event")
	}
	return k
}

// identify returns the key. A body that couldn't be decoded has no identity of its own unless the key uses only headers.
func (k *keyRule) identify(ctx context.Context, in jq.Input, decoded bool, scope string, body []byte) (Identity, error) {
	hash := func() string { return hashOf(scope, body) }
	if k != nil && k.guessed {
		return k.guess(ctx, in, scope, body)
	}
	if k != nil && (decoded || !k.readsBody) {
		id, err := k.join(ctx, in, hash)
		if id.Certain = k.certain; err != nil || id.Key != "" {
			return id, err
		}
	}
	if k != nil && k.fallback && k.repeats != nil {
		return k.guess(ctx, in, scope, body)
	}
	if k != nil && k.fallback {
		return Identity{Key: bodyKeyPrefix + hash(), From: event.KeyFromBody, isFallback: true, Window: k.window}, nil
	}
	return Identity{
		Key: missingKeyPrefix + hash(), From: event.KeyFromNothing, isFallback: true, Window: defaultFallbackWindow,
	}, nil
}

// hashOf returns the hash of a body, and of the sender if the body doesn't name it.
func hashOf(scope string, body []byte) string {
	h := sha256.New()
	if scope != "" {
		fmt.Fprintf(h, "%d:%s", len(scope), scope)
	}
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// join evaluates the parts. Its key is "" if a required one is missing, or if all are missing and the body's hash isn't a part.
// An expression that fails counts as missing.
func (k *keyRule) join(ctx context.Context, in jq.Input, hash func() string) (Identity, error) {
	var texts []string
	var found bool
	for _, part := range k.parts {
		v, err := part.expr.First(ctx, in, nil)
		if jq.IsDeadline(err) {
			return Identity{}, err
		}
		s, ok := jq.Text(v)
		if !ok && !part.optional {
			return Identity{}, nil
		}
		texts, found = append(texts, s), found || ok
	}
	switch {
	case k.hashed && !found:
		return Identity{Key: bodyKeyPrefix + hash(), From: event.KeyFromBody}, nil
	case k.hashed:
		return Identity{Key: joinKey(append(texts, hash())), From: event.KeyFromBody}, nil
	case !found:
		return Identity{}, nil
	case len(texts) == 1:
		return Identity{Key: texts[0], From: event.KeyFromEvent}, nil
	}
	return Identity{Key: joinKey(texts), From: event.KeyFromEvent}, nil
}

// joinKey joins with colons so that different lists of parts have different keys. A part that isn't valid in a workflow ID
// becomes its hash, so that the others stay readable.
func joinKey(parts []string) string {
	for i, s := range parts {
		if strings.HasPrefix(s, partHashPrefix) || strings.ContainsFunc(s, func(c rune) bool { return !isPartRune(c) }) {
			sum := sha256.Sum256([]byte(s))
			parts[i] = partHashPrefix + partHashEncoding.EncodeToString(sum[:partHashBytes])
		}
	}
	return strings.Join(parts, ":")
}

// partHashPrefix marks a part that is a hash; a part that begins like one is hashed as well. 128 bits are enough to distinguish
// the parts of all keys, and leave room for several.
const (
	partHashPrefix = "h."
	partHashBytes  = 16
)

var partHashEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

func isPartRune(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}

// Within returns the part of the input that is covered. It leaves out another scheme's headers: with one scheme's signature
// anyone could add them.
func Within(c auth.Coverage, in jq.Input) jq.Input {
	if c.All {
		return in
	}
	headers := map[string]any{}
	kept, _ := in.Value["headers"].(map[string]any)
	for _, name := range c.Headers {
		if v, ok := kept[name]; ok {
			headers[name] = v
		}
	}
	value := maps.Clone(in.Value)
	value["headers"] = headers
	if !c.URL {
		value["query"], value["path"] = map[string]any{}, map[string]any{}
	}
	return jq.Input{Value: value, Root: in.Root}
}
