package mapping

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"holdfast/event"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// everything stands among the paths that vary for the whole body.
const everything = "*"

// maxFingerprint is in bytes.
const maxFingerprint = 200

// fingerprintRule says what every delivery of an event has in common beside its key. An event of the same key with another
// fingerprint is a conflict: two events that the sender, or somebody in between, gives one name.
type fingerprintRule struct {
	// varies are the paths of values that may differ between deliveries.
	varies [][]string
	// ignored: the whole body may differ.
	ignored  bool
	delivery *jq.Expression
}

func (c *Compiler) newFingerprint(field string, d *definition.Key) (f fingerprintRule) {
	for i, path := range d.Varies {
		names := strings.Split(path, ".")
		for _, name := range names {
			if name == "" {
				c.Add(fmt.Sprintf("%s.varies[%d]", field, i), "want the dotted path of a value in the body, such as attempt, or *")
				break
			}
		}
		f.ignored = f.ignored || path == everything
		f.varies = append(f.varies, names)
	}
	f.delivery = c.Expression(field+".delivery", d.Delivery)
	return f
}

// of gives the fingerprint of an event; "" where any delivery of its key is as good as another. A key that is made of the body
// leaves the sender's own name of the delivery to compare, whoever vouches for it.
func (f fingerprintRule) of(ctx context.Context, id Identity, in jq.Input, body []byte) (string, error) {
	if id.From != event.KeyFromEvent {
		v, err := f.delivery.First(ctx, in, nil)
		if jq.IsDeadline(err) {
			return "", err
		}
		name, _ := jq.Text(v)
		return CleanText(name, maxFingerprint), nil
	}
	if f.ignored {
		return "", nil
	}
	h := sha256.New()
	if len(f.varies) == 0 || !decode.WriteWithout(h, body, f.varies) {
		h.Reset()
		_, _ = h.Write(body)
	}
	return bodyKeyPrefix + hex.EncodeToString(h.Sum(nil)), nil
}
