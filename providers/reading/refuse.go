package reading

import (
	"context"
	"fmt"

	"holdfast/providers/definition"
	"holdfast/providers/jq"
	"holdfast/providers/mapping"
)

// refusal is a condition under which an authentic event is refused.
type refusal struct {
	when    *jq.Expression
	message string
}

// maxRefusal bounds the message of a refusal, in bytes.
const maxRefusal = 200

func (c compiler) newRefusals(defs []definition.Refusal) []refusal {
	var refusals []refusal
	for i, d := range defs {
		at := fmt.Sprintf("refuse[%d]", i)
		c.Required(at+".when", string(d.When))
		c.Required(at+".message", d.Message)
		if mapping.CleanText(d.Message, maxRefusal) != d.Message {
			c.Add(at+".message", "want at most %d bytes on one line", maxRefusal)
		}
		refusals = append(refusals, refusal{c.Expression(at+".when", d.When), d.Message})
	}
	return refusals
}

// refusedFor returns the message of the first condition that holds; "" if none does. A condition that fails doesn't hold, so
// that an error in it loses no event. The only possible error is a timeout of the evaluation.
func (p *Reader) refusedFor(ctx context.Context, in jq.Input) (string, error) {
	for _, r := range p.refusals {
		v, err := r.when.First(ctx, in, nil)
		if jq.IsDeadline(err) {
			return "", r.when.Failed(err)
		}
		if err == nil && v == true {
			return r.message, nil
		}
	}
	return "", nil
}

// RefusedFor returns why the request of these events is refused; "" if it isn't. One event is enough to refuse them all: the
// sender corrects the request and resends it.
func RefusedFor(items []Item) string {
	for i, item := range items {
		switch {
		case item.Refused == "":
		case len(items) == 1:
			return item.Refused
		default:
			return fmt.Sprintf("event %d of %d: %s", i+1, len(items), item.Refused)
		}
	}
	return ""
}
