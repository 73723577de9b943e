package reading

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strconv"
	"strings"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/jq"
)

// SplitQueued is Split for a message of a queue, whose broker has authenticated its sender. Nothing is refused, since no one
// would get the answer: the parse step rejects it. The position is what only deliveries of this message have in common, "" if
// the broker has none.
func (p *Reader) SplitQueued(r *auth.Request, position string) ([]Item, error) {
	items, err := p.split(r, p.coverage)
	if err == nil && len(items) == 1 && items[0].Root == nil && p.bodiless[items[0].unreadable].action == ignoreBody {
		return []Item{}, nil
	}
	p.markQueued(items, position)
	return items, err
}

// UnreadQueued returns a message that can't be split in time, or may crash its readers, as one event without type and key. It has
// no definition either, so that the parse step splits and identifies it like an event that was accepted under another definition.
func (p *Reader) UnreadQueued(r *auth.Request, position string) []Item {
	shown, _, _ := p.kept.Of(r)
	hash := sha256.Sum256(r.Body)
	items := []Item{{Received: event.Received{Body: r.Body}}}
	e := &items[0]
	e.Provider, e.RejectRedelivery, e.Type = p.name, p.rejectsRedelivery, UnknownType
	e.Headers, e.Query, e.Path = shown.Headers, shown.Query, shown.Path
	e.Key, e.KeyFrom = event.CanonicalKey(p.name, "missing:"+hex.EncodeToString(hash[:])), event.KeyFromNothing
	p.markQueued(items, position)
	return items
}

// maxCut is how many bytes of a message that is too large are kept.
const maxCut = 64 << 10

// The headers of a message that was cut.
const (
	cutPosition = "queue-position"
	cutBytes    = "queue-bytes"
)

// CutQueued returns a message that is larger than event.MaxBody as one event with the beginning of its body, and its position and
// size in headers. The parse step rejects it, until an operator replaces the body.
func (p *Reader) CutQueued(r *auth.Request, position string) []Item {
	items := p.UnreadQueued(r, position)
	e := &items[0]
	e.Via, e.Body = event.ViaCut, bytes.Clone(r.Body[:min(len(r.Body), maxCut)])
	headers := map[string]string{cutPosition: position, cutBytes: strconv.Itoa(len(r.Body))}
	maps.Copy(headers, e.Headers)
	e.Headers = headers
	return items
}

// checkCut rejects the beginning of a message that was too large.
func checkCut(r event.Receipt) error {
	if r.Via != event.ViaCut || r.Replaces != "" {
		return nil
	}
	message := strings.TrimSpace("the message " + r.Headers[cutPosition]) // RabbitMQ has no position
	return event.Rejectf("too_large", "%s has %s bytes, and an event at most %d: this is its beginning",
		message, r.Headers[cutBytes], event.MaxBody)
}

// markQueued adds the position of their message to the keys of items that have none, so that equal messages aren't dropped as
// duplicates.
func (p *Reader) markQueued(items []Item, position string) {
	for i := range items {
		items[i].Via = event.ViaQueue
		if items[i].KeyFrom == event.KeyFromNothing && position != "" {
			items[i].Key = event.CanonicalKey(p.name, items[i].Key+"@"+position)
		}
	}
}

// checkRefusals rejects an event of a queue that the definition refuses: its sender got no answer.
func (p *Reader) checkRefusals(ctx context.Context, r event.Receipt, in jq.Input) error {
	if r.Via != event.ViaQueue {
		return nil
	}
	why, err := p.refusedFor(ctx, in)
	if err == nil && why != "" {
		err = event.Rejectf("refused", "the definition refuses the event: %s", why)
	}
	return err
}
