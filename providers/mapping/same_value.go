package mapping

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"holdfast/event"
	"holdfast/providers/decode"
)

// SameValue reports whether two bodies are equal JSON values but for what varies between deliveries, however they were written:
// white space, the order of members, escapes, a byte order mark, and 1.0 for 1. Numbers are compared exactly. When in doubt they
// differ: if a member is there twice, or if a body isn't JSON or exceeds a limit. Of forms with files all but the boundary is
// compared.
func (r *Rules) SameValue(a, b []byte) bool {
	if r.key == nil || r.key.fingerprint.ignored {
		return false
	}
	x, ok := r.key.valueSum(a)
	if !ok {
		return decode.SameForm(a, b)
	}
	y, ok := r.key.valueSum(b)
	return ok && bytes.Equal(x, y)
}

func (k *keyRule) valueSum(body []byte) (sum []byte, ok bool) {
	v, err := decode.JSONUnambiguously(event.WithoutMark(body))
	if err != nil {
		return nil, false
	}
	h := sha256.New()
	_ = decode.WriteValue(h, v, slices.Clone(k.fingerprint.varies), false) // a hash never fails
	return h.Sum(nil), true
}
