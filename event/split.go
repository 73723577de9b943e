package event

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// A replay splits an event that was accepted as a whole, if the current definition makes several of it. The event is replaced by
// its parts, which are ordinary events: each has the receipt that the ingress would make, and the time at which the whole one was
// received.

// PartOf returns the receipt of the nth event that r is split into, n from 0, with what both have in common.
func (r Receipt) PartOf(whole Receipt, n int) Receipt {
	r.ID, r.SplitFrom, r.Provider = partID(whole, n, r.Key), whole.ID, whole.Provider
	r.ReceivedAt, r.RequestID, r.CorrelationID, r.Trace = whole.ReceivedAt, whole.RequestID, whole.CorrelationID, whole.Trace
	r.Copied, r.Imported, r.Via, r.Undelivered = whole.Copied, whole.Imported, whole.Via, whole.Undelivered
	if r.Imported != nil || r.Via == ViaRecover { // the text isn't the sender's
		r.Fingerprint = ""
	}
	return r
}

// partID returns the UUIDv7 of a part: the same one each time, with the time of the whole event, in the order of the parts.
func partID(whole Receipt, n int, key string) string {
	at, ok := TimeOfID(whole.ID)
	if !ok {
		at = whole.ReceivedAt
	}
	id := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s", whole.ID, n, key))
	ms := max(at.UnixMilli(), 0)
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	const low = 6 // bits of the number in the byte of the variant
	id[6], id[7], id[8] = 0x70|byte(n>>(low+8))&0x0f, byte(n>>low), 0x80|byte(n)&(1<<low-1)
	text := hex.EncodeToString(id[:16])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

// SplitReason is the reason of the decision about a whole event that was split.
func SplitReason(parts int) string {
	if parts == 1 {
		return "the current definition finds 1 event in it"
	}
	return fmt.Sprintf("the current definition splits it into %d events", parts)
}

// Splitter is the actor of such a decision.
const Splitter = "holdfast"
