package providers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"holdfast/event"
)

// defaultFallbackWindow is short, since two equal bodies may well be two events.
const defaultFallbackWindow = event.Duration(15 * time.Minute)

// The prefixes of keys that are hashes of the body.
const (
	bodyKeyPrefix    = "sha256:"
	missingKeyPrefix = "missing:"
)

// keyRule says how an event is identified.
type keyRule struct {
	parts     []keyPart
	fallback  bool
	window    event.Duration
	unsigned  bool
	readsBody bool
	// onlyBody: the parts are paths within the body.
	onlyBody bool
}

type keyPart struct {
	expr     *expression
	optional bool
}

// identity is the key of one event.
type identity struct {
	key    string
	from   event.KeyOrigin
	window event.Duration
}

func (c *compiler) newKey(field string, d *keyDefinition) *keyRule {
	k := &keyRule{unsigned: d.Unsigned != "", window: defaultFallbackWindow, onlyBody: true}
	k.fallback = d.Fallback != "" && c.oneOf(field+".fallback", d.Fallback, "body_sha256") != ""
	if d.FallbackWindow != nil {
		k.window = event.Duration(*d.FallbackWindow)
	}
	if len(d.Parts) == 0 && !k.fallback {
		c.add(field, "want parts, or a fallback, or both")
	}
	needed := 0
	for i, part := range d.Parts {
		at := fmt.Sprintf("%s.parts[%d]", field, i)
		c.required(at, string(part.Expr))
		x := c.expression(at, part.Expr)
		if !k.unsigned {
			c.checkKeyReads(at, x, c.coverage)
		}
		if x != nil && x.reads.body {
			k.readsBody = true
		}
		k.onlyBody = k.onlyBody && x != nil && len(x.names) > 0 && x.names[0] == "body"
		if !part.optional() {
			needed++
		}
		k.parts = append(k.parts, keyPart{expr: x, optional: part.optional()})
	}
	if len(d.Parts) > 0 && needed == 0 {
		c.add(field+".parts", "are all optional: at least one must identify the event")
	}
	return k
}

func (d partDefinition) optional() bool { return d.Optional }

// identify gives the key of an event. A body that could not be decoded has no identity of its own unless the key is
// made of headers alone. The error is context.DeadlineExceeded, and nothing else.
func (k *keyRule) identify(ctx context.Context, in input, decoded bool, body []byte) (identity, error) {
	if k != nil && (decoded || !k.readsBody) {
		key, err := k.join(ctx, in)
		if err != nil {
			return identity{}, err
		}
		if key != "" {
			return identity{key: key, from: event.KeyFromEvent}, nil
		}
	}
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	if k != nil && k.fallback {
		return identity{key: bodyKeyPrefix + hash, from: event.KeyFromBody, window: k.window}, nil
	}
	return identity{key: missingKeyPrefix + hash, from: event.KeyFromNothing, window: defaultFallbackWindow}, nil
}

// join evaluates the parts; "" if one that is needed gives nothing. An expression that fails gives nothing.
func (k *keyRule) join(ctx context.Context, in input) (string, error) {
	var texts []string
	for _, part := range k.parts {
		v, err := part.expr.first(ctx, in, nil)
		if isDeadline(err) {
			return "", err
		}
		s, ok := text(v)
		if !ok && !part.optional {
			return "", nil
		}
		texts = append(texts, s)
	}
	if len(texts) == 1 {
		return texts[0], nil
	}
	return joinKey(texts), nil
}

// joinKey joins with colons so that no two lists of parts give one key: a colon within a part is escaped.
func joinKey(parts []string) string {
	escape := strings.NewReplacer("%", "%25", ":", "%3A")
	for i, s := range parts {
		parts[i] = escape.Replace(s)
	}
	return strings.Join(parts, ":")
}
