package reading

import (
	"encoding/json"
	"fmt"

	"holdfast/event"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// redactedText replaces redacted values.
const redactedText = "[redacted]"

// newRedaction compiles the paths into one expression that blanks them all.
func (c compiler) newRedaction(paths []definition.JQ) *jq.Expression {
	source := "."
	for i, path := range paths {
		at := fmt.Sprintf("redact[%d]", i)
		if c.NewExpression(at, path) == nil {
			c.Required(at, string(path))
			continue
		}
		blank := fmt.Sprintf("(try ((%s) | select(. != null))) |= %q", path, redactedText)
		if c.NewExpression(at, definition.JQ(blank)) != nil {
			source += " | " + blank
		}
	}
	if source == "." {
		return nil
	}
	return c.NewExpression("redact", definition.JQ(source+" | .body"))
}

// tokensInBody returns the paths of authentication tokens in the body: viewers don't see them, nor those in headers.
func tokensInBody(schemes []definition.Scheme) (paths []definition.JQ) {
	for _, s := range schemes {
		if s.Token != nil && s.Token.In == "body" {
			paths = append(paths, definition.JQ(fmt.Sprintf(".body[%q]", s.Token.Name)))
		}
	}
	return paths
}

// Redacts reports whether the definition redacts anything.
func (p *Reader) Redacts() bool { return p.redact != nil }

// Redact returns the body for display, without the values that the definition redacts. It is for projections and logs; the
// stored bytes are unchanged. A body that can't be decoded becomes null.
func (p *Reader) Redact(r event.Receipt, body []byte) (json.RawMessage, error) {
	v, err := p.decoders.Decode(r.Headers["content-type"], body)
	if err != nil {
		return json.RawMessage("null"), nil //nolint:nilerr // what cannot be read shows nothing
	}
	if p.redact != nil {
		if v, err = p.redact.Once(jq.NewInput(r.Headers, r.Query, r.Path, v, nil)); err != nil {
			return nil, p.redact.Failed(err)
		}
	}
	return jq.Marshal(v, definition.MaxBodyLimit)
}
