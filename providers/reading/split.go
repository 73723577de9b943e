package reading

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/decode"
	"holdfast/providers/jq"
	"holdfast/providers/mapping"
)

// Item is one event of a request. Its receipt lacks only what the definition doesn't determine: the ID, the time, and the request
// with its trace. Its type is UnknownType if there is none, or it couldn't be read; the parse step reports the reason.
type Item struct {
	event.Received

	// Refused is why the definition refuses the event; "" if it doesn't. Only callers that can answer the sender use it.
	Refused string
	// Part is the number of the event among Parts that were cut from one; 0 if it is whole.
	Part, Parts int
	// OfValue means that the key depends on the JSON value of the body, not on how it is written.
	OfValue bool
	// unreadable is the code of the error with which the body was decoded.
	unreadable string
}

var errNoEvent = errors.New("no event")

// maxSource is in bytes.
const maxSource = 200

// Split returns the events of an authentic request, in order; an empty batch has none. An unreadable body becomes one item, and
// the parse step reports the reason: only a definition's conditions refuse a request for its content. The only possible error
// is a timeout of the evaluation, which doesn't depend on the request alone.
func (p *Reader) Split(r *auth.Request) ([]Item, error) {
	items, err := p.split(r, r.Covered())
	if err != nil || len(items) != 1 || items[0].Root != nil {
		return items, err
	}
	bodiless, ok := p.bodiless[items[0].unreadable]
	switch {
	case !ok || bodiless.action == keepBody:
	case bodiless.action == ignoreBody:
		return []Item{}, nil
	case items[0].Refused == "":
		items[0].Refused = bodiless.message
	}
	return items, nil
}

// SplitStored is Split for a request that was authenticated earlier, as far as the definition's schemes would.
func (p *Reader) SplitStored(r *auth.Request) ([]Item, error) { return p.split(r, p.coverage) }

func (p *Reader) split(r *auth.Request, proven auth.Coverage) ([]Item, error) {
	ctx, cancel := context.WithTimeout(context.Background(), jq.DeadlineOf(len(r.Body)))
	defer cancel()
	bodies, root := p.bodiesOf(r.Body)
	return p.itemsOf(ctx, r, p.cut(bodies, root), root, proven)
}

// itemsOf describes and identifies the parts of a request.
func (p *Reader) itemsOf(
	ctx context.Context, r *auth.Request, parts []Item, root json.RawMessage, proven auth.Coverage,
) ([]Item, error) {
	shown, whole, differ := p.kept.Of(r)
	var rootValue any
	if root != nil {
		rootValue, _ = decode.JSONExactly(root)
	}
	items, seen := make([]Item, 0, len(parts)), repeats{}
	for _, item := range parts {
		body, err := p.decoders.DecodeIdentity(shown.Headers["content-type"], item.Body)
		item.Provider, item.Definition, item.Root, item.RejectRedelivery = p.name, p.digest, root, p.rejectsRedelivery
		item.Headers, item.Query, item.Path = shown.Headers, shown.Query, shown.Path
		item.unreadable = event.CodeOf(err)
		if len(p.batch) > 0 && root == nil { // a batch that couldn't be split isn't an event
			body, err = nil, errNoEvent
		}
		in := jq.NewInput(shown.Headers, shown.Query, shown.Path, body, rootValue)
		if err := p.describeItem(ctx, &item, in); err != nil {
			return nil, err
		}
		if differ {
			in = jq.NewInput(whole.Headers, whole.Query, whole.Path, body, rootValue)
		}
		if err := p.identify(ctx, &item, in, err == nil, proven); err != nil {
			return nil, err
		}
		if len(parts) > 1 {
			seen.disambiguate(p.name, &item)
		}
		item.Type = cmp.Or(item.Type, UnknownType)
		items = append(items, item)
	}
	return items, nil
}

// repeats counts equal items with a guessed key in a request.
type repeats map[[sha256.Size]byte]int

// disambiguate gives the second and later equal items different keys: no sender retries within a request. A repeated request has
// the same keys, since they follow the order of the items. Items that differ only in what varies between deliveries, such as
// the number of the subscription, are deliveries of one event.
func (r repeats) disambiguate(provider string, item *Item) {
	if item.Content == "" {
		return
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", item.Key)
	h.Write(item.Body)
	same := [sha256.Size]byte(h.Sum(nil))
	if r[same]++; r[same] > 1 {
		item.Key = event.CanonicalKey(provider, item.Key+":"+strconv.Itoa(r[same]))
		item.Earlier = nil // the previous release gave it the key of the first one
	}
}

// describeItem sets an item's type and source. A body that can't be fully decoded may still have them, and operators search by
// them.
func (p *Reader) describeItem(ctx context.Context, item *Item, in jq.Input) error {
	if in.Value["body"] != nil {
		var err error
		if item.Type, err = p.eventType(ctx, in); jq.IsDeadline(err) {
			return p.typeOf.Failed(err)
		}
	}
	source, err := p.sourceText(ctx, in)
	if err != nil {
		return err
	}
	item.Source = mapping.CleanText(source, maxSource)
	item.Refused, err = p.refusedFor(ctx, in)
	return err
}

func (p *Reader) identify(ctx context.Context, item *Item, in jq.Input, decoded bool, proven auth.Coverage) error {
	r := p.mapping.For(item.Type)
	scope, err := p.scopeOf(ctx, in, proven)
	if err != nil {
		return err
	}
	id, err := r.Identify(ctx, in, proven, decoded, scope, item.Body)
	if err != nil {
		return p.typeOf.Failed(err)
	}
	item.Key, item.KeyFrom, item.Fingerprint = event.CanonicalKey(p.name, id.Key), id.From, id.Fingerprint
	item.Certain, item.Content, item.OfValue = id.Certain, id.Content, id.OfValue
	if id.Earlier != nil {
		item.Earlier = &event.EarlierKey{Key: event.CanonicalKey(p.name, id.Earlier.Key), Fingerprint: id.Earlier.Fingerprint}
	}
	item.Priority, item.Bulk, item.DedupeWindow = r.Priority, r.IsBulk(len(item.Body)+len(item.Root)), id.Window
	return nil
}

// scopeOf returns the source if the body alone doesn't contain it: equal bodies from two sources are two events. It is read
// only from what the scheme covers, even if the key isn't, so that no one can turn one event into two.
func (p *Reader) scopeOf(ctx context.Context, in jq.Input, proven auth.Coverage) (string, error) {
	if p.sourceOf == nil || p.sourceOf.Dependencies.OnlyBody() {
		return "", nil
	}
	return p.sourceText(ctx, mapping.Within(proven, in))
}

// sourceText returns the uncut source; "" if the event has none. The only possible error is a timeout.
func (p *Reader) sourceText(ctx context.Context, in jq.Input) (string, error) {
	v, err := p.sourceOf.First(ctx, in, nil)
	if jq.IsDeadline(err) {
		return "", p.sourceOf.Failed(err)
	}
	source, _ := jq.Text(v)
	return source, nil
}

// eventType returns the type as stored: bounded, without control characters; "" if the event has none.
func (p *Reader) eventType(ctx context.Context, in jq.Input) (string, error) {
	v, err := p.typeOf.First(ctx, in, nil)
	if err != nil {
		return "", err
	}
	s, _ := jq.Text(v)
	return mapping.CleanText(s, event.MaxTypeLength), nil
}
