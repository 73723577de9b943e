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

// everything, as a varying path, stands for the whole body.
const everything = "*"

// maxFingerprint is in bytes.
const maxFingerprint = 200

// fingerprintRule says what all deliveries of an event have in common in addition to its key. An event with the same key and
// another fingerprint is a conflict: the sender, or a system in between, has given two events one name.
type fingerprintRule struct {
	// varies lists the paths of values that may differ between deliveries.
	varies [][]string
	// ignored means that the whole body may differ.
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

// of returns the fingerprint of an event; "" if any two deliveries with its key are equal. For a key made from the body, the
// sender's delivery ID is compared, whether or not it is signed.
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
