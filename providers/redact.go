package providers

import (
	"encoding/json"
	"fmt"

	"holdfast/event"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// redactedText stands where something was taken out.
const redactedText = "[redacted]"

// newRedaction compiles the paths into one expression that blanks them all.
func (c *compiler) newRedaction(paths []definition.JQ) *jq.Expression {
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

// tokensInBody are the paths of the tokens that authenticate a request from within its body: viewers don't see them, as they
// don't see those in headers.
func tokensInBody(schemes []definition.Scheme) (paths []definition.JQ) {
	for _, s := range schemes {
		if s.Token != nil && s.Token.In == "body" {
			paths = append(paths, definition.JQ(fmt.Sprintf(".body[%q]", s.Token.Name)))
		}
	}
	return paths
}

// Redacts says whether the definition takes anything out.
func (p *Provider) Redacts() bool { return p.redact != nil }

// Redact gives the body for people's eyes: without what the definition says to take out. It is for projections and
// logs; the stored bytes stay as they are. A body that cannot be decoded gives null.
func (p *Provider) Redact(r event.Receipt, body []byte) (json.RawMessage, error) {
	v, err := p.decoders.Decode(r.Headers["content-type"], body)
	if err != nil {
		return json.RawMessage("null"), nil //nolint:nilerr // what cannot be read shows nothing
	}
	if p.redact != nil {
		if v, err = p.redact.Once(jq.NewInput(r.Headers, r.Query, r.Path, v, nil)); err != nil {
			return nil, p.redact.Failed(err)
		}
	}
	return jq.Marshal(v, maxBodyLimit)
}
