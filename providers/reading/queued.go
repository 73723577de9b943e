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

// UnreadQueued returns a message that can't be split in time as one event without type and key. It has no definition either, so
// that the parse step splits and identifies it like an event that was accepted under another definition.
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

// The headers of a message that isn't read: its position, its size if it was cut, and its earlier deliveries.
const (
	queuePosition     = "queue-position"
	queueBytes        = "queue-bytes"
	queueRedeliveries = "queue-redeliveries"
)

// CutQueued returns a message that is larger than event.MaxBody as one event with the beginning of its body, and its position and
// size in headers. The parse step rejects it, until an operator replaces the body.
func (p *Reader) CutQueued(r *auth.Request, position string) []Item {
	items := p.UnreadQueued(r, position)
	e := &items[0]
	e.Via, e.Body = event.ViaCut, bytes.Clone(r.Body[:min(len(r.Body), maxCut)])
	e.addHeaders(map[string]string{queuePosition: position, queueBytes: strconv.Itoa(len(r.Body))})
	return items
}

// addHeaders keeps those that the sender has set.
func (i *Item) addHeaders(headers map[string]string) {
	maps.Copy(headers, i.Headers)
	i.Headers = headers
}

// checkUnread rejects a message that isn't read.
func checkUnread(r event.Receipt) error {
	if r.Replaces != "" {
		return nil
	}
	message := strings.TrimSpace("the message " + r.Headers[queuePosition]) // RabbitMQ has no position
	if r.Via == event.ViaCut {
		return event.Rejectf("too_large", "%s has %s bytes, and an event at most %d: this is its beginning",
			message, r.Headers[queueBytes], event.MaxBody)
	}
	if r.Via == event.ViaSuspect {
		return event.Rejectf("never_acknowledged", "%s was delivered %s times before and never acknowledged, so it may crash the "+
			"process that reads it; if it doesn't, save it with `holdfast dlq edit`, which processes it",
			message, r.Headers[queueRedeliveries])
	}
	return nil
}

// SuspectQueued returns a message that may have ended the processes that read it as one event, with its position and the number
// of its earlier deliveries in headers. The parse step rejects it unread, until an operator edits it.
func (p *Reader) SuspectQueued(r *auth.Request, position string, earlier int) []Item {
	items := p.UnreadQueued(r, position)
	items[0].Via = event.ViaSuspect
	items[0].addHeaders(map[string]string{queuePosition: position, queueRedeliveries: strconv.Itoa(earlier)})
	return items
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
