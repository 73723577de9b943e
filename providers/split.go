package providers

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
	"holdfast/providers/mapping"
)

// Item is one event of a request, with everything that the ingress needs to start its workflow.
type Item struct {
	// Key is canonical (see event.CanonicalKey).
	Key     string
	KeyFrom event.KeyOrigin
	// Type is UnknownType if there is none, or it could not be read; the parse step says why.
	Type   string
	Source string
	// Refused says why the definition doesn't accept the event; "" if it does. It is for those alone who can tell the sender.
	Refused string
	// Body is a part of the request's own bytes, not a copy.
	Body []byte
	// Root is the envelope without its items; nil if the request was one event.
	Root         json.RawMessage
	Priority     event.Priority
	Lane         definition.Lane
	DedupeWindow event.Duration
	// Fingerprint is that of the receipt.
	Fingerprint string
	// Certain, Content and Earlier are those of the receipt, too.
	Certain bool
	Content string
	Earlier *event.EarlierKey
	// OfValue: the key is made of the JSON value of the body, and of no byte of how it was written.
	OfValue    bool
	Redelivery Redelivery
	// Headers, Query and Path are what the receipt keeps.
	Headers, Query, Path map[string]string
}

var errNoEvent = errors.New("no event")

// maxSource is in bytes.
const maxSource = 200

// Split gives the events of an authentic request, in their order; an empty batch gives none. What cannot be read becomes one
// item, and the parse step finds out why: only a definition that says so refuses a request for its content. The error is
// only ever that the evaluation took too long, which says nothing about the request.
func (p *Provider) Split(r *auth.Request) ([]Item, error) { return p.split(r, r.Covered()) }

// SplitStored is Split for a request that somebody has authenticated before, as far as the definition's schemes would.
func (p *Provider) SplitStored(r *auth.Request) ([]Item, error) { return p.split(r, p.Coverage()) }

func (p *Provider) split(r *auth.Request, proven auth.Coverage) ([]Item, error) {
	ctx, cancel := context.WithTimeout(context.Background(), jq.Deadline)
	defer cancel()
	shown, whole := p.kept.Of(r)
	parts, root := p.partsOf(r.Body)
	var rootValue any
	if root != nil {
		rootValue, _ = decode.JSONExactly(root)
	}
	items, seen := make([]Item, 0, len(parts)), alike{}
	for _, part := range parts {
		body, err := p.decoders.DecodeIdentity(shown.Headers["content-type"], part)
		item := Item{
			Body: part, Root: root, Redelivery: p.redelivery, Headers: shown.Headers, Query: shown.Query, Path: shown.Path,
		}
		if len(p.batch) > 0 && root == nil { // a batch that could not be split is no event
			body, err = nil, errNoEvent
		}
		in := jq.NewInput(shown.Headers, shown.Query, shown.Path, body, rootValue)
		if err := p.describeItem(ctx, &item, in); err != nil {
			return nil, err
		}
		in = jq.NewInput(whole.Headers, whole.Query, whole.Path, body, rootValue)
		if err := p.identify(ctx, &item, in, err == nil, proven); err != nil {
			return nil, err
		}
		if len(parts) > 1 {
			seen.tellApart(p.name, &item)
		}
		item.Type = cmp.Or(item.Type, UnknownType)
		items = append(items, item)
	}
	return items, nil
}

// alike counts the equal items of a request that have a guessed key.
type alike map[[sha256.Size]byte]int

// tellApart gives the second and each further one of equal items a key of its own: no sender retries within a request. The same
// request sent again has the same keys, since they go by the order of the items. Items that differ in what varies between
// deliveries, such as the number of the subscription, are deliveries of one event.
func (a alike) tellApart(provider string, item *Item) {
	if item.Content == "" {
		return
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", item.Key)
	h.Write(item.Body)
	same := [sha256.Size]byte(h.Sum(nil))
	if a[same]++; a[same] > 1 {
		item.Key = event.CanonicalKey(provider, item.Key+":"+strconv.Itoa(a[same]))
		item.Earlier = nil // the release before took it for the first one
	}
}

// describeItem fills in what an item is: type and source. What could be read of a body that is not decoded still gives them, and
// people find it by them.
func (p *Provider) describeItem(ctx context.Context, item *Item, in jq.Input) error {
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

// identify gives an item its key.
func (p *Provider) identify(ctx context.Context, item *Item, in jq.Input, decoded bool, proven auth.Coverage) error {
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
	item.Priority, item.Lane, item.DedupeWindow = r.Priority, r.LaneOf(len(item.Body)+len(item.Root)), id.Window
	return nil
}

// scopeOf is the source where the body alone does not tell it: equal bodies from two sources are two events. It is read from what
// the scheme covers, even if the key is not, so that nobody can make one event two.
func (p *Provider) scopeOf(ctx context.Context, in jq.Input, proven auth.Coverage) (string, error) {
	if p.sourceOf == nil || p.sourceOf.Dependencies.OnlyBody() {
		return "", nil
	}
	return p.sourceText(ctx, mapping.Within(proven, in))
}

// sourceText is the source as it is; "" if the event has none. The error is only ever that the evaluation took too long.
func (p *Provider) sourceText(ctx context.Context, in jq.Input) (string, error) {
	v, err := p.sourceOf.First(ctx, in, nil)
	if jq.IsDeadline(err) {
		return "", p.sourceOf.Failed(err)
	}
	source, _ := jq.Text(v)
	return source, nil
}

// eventType is the type as it is stored: bounded, without control characters; "" if the event has none.
func (p *Provider) eventType(ctx context.Context, in jq.Input) (string, error) {
	v, err := p.typeOf.First(ctx, in, nil)
	if err != nil {
		return "", err
	}
	s, _ := jq.Text(v)
	return mapping.CleanText(s, event.MaxTypeLength), nil
}

// partsOf gives the bytes of each event of a body, and the envelope without them. A body that may itself be the list is one event
// where it is none.
func (p *Provider) partsOf(body []byte) ([][]byte, json.RawMessage) {
	if p.batch == nil {
		return [][]byte{body}, nil
	}
	parts, root, ok := decode.Cut(body, p.batch)
	if !ok {
		return [][]byte{body}, nil
	}
	return parts, bytes.Clone(root)
}

func (c *compiler) newBatch(d *definition.Batch) []string {
	if d == nil {
		return nil
	}
	if d.Items == "." {
		return []string{} // the body itself
	}
	path := strings.Split(d.Items, ".")
	for _, name := range path {
		if name == "" {
			c.Add("batch.items", "want the dotted path of an array in the body, such as events or data.events, or . for the body")
			return nil
		}
	}
	return path
}
