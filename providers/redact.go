package providers

import (
	"context"
	"encoding/json"
	"fmt"

	"holdfast/event"
)

// redactedText stands where something was taken out.
const redactedText = "[redacted]"

// newRedaction compiles the paths into one expression that blanks them all.
func (c *compiler) newRedaction(paths []jq) *expression {
	source := "."
	for i, path := range paths {
		at := fmt.Sprintf("redact[%d]", i)
		if c.newExpression(at, path) == nil {
			c.required(at, string(path))
			continue
		}
		blank := fmt.Sprintf("(try ((%s) | select(. != null))) |= %q", path, redactedText)
		if c.newExpression(at, jq(blank)) != nil {
			source += " | " + blank
		}
	}
	if source == "." {
		return nil
	}
	return c.newExpression("redact", jq(source+" | .body"))
}

// Redacts says whether the definition takes anything out.
func (p *Provider) Redacts() bool { return p.redact != nil }

// Redact gives the body for people's eyes: without what the definition says to take out. It is for projections and
// logs; the stored bytes stay as they are. A body that cannot be decoded gives null.
func (p *Provider) Redact(r event.Receipt, body []byte) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(context.Background(), evaluationDeadline)
	defer cancel()
	v, err := p.decoders.decode(r.Headers["content-type"], body)
	if err != nil {
		return json.RawMessage("null"), nil
	}
	if p.redact != nil {
		if v, err = p.redact.first(ctx, newInput(r.Headers, r.Query, r.Path, v, nil), nil); err != nil {
			return nil, p.redact.failed(err)
		}
	}
	return marshal(v, maxBodyLimit)
}
