package providers

import (
	"bytes"
	"context"
	"encoding/json"

	"holdfast/event"
)

// Item is one event of a request, with everything that the ingress needs to start its workflow.
type Item struct {
	// Key is canonical (see event.CanonicalKey).
	Key     string
	KeyFrom event.KeyOrigin
	// Type is "" if it could not be read; the parse step says why.
	Type   string
	Source string
	// Body is a part of the request's own bytes, not a copy.
	Body []byte
	// Root is the envelope without its items; nil if the request was one event.
	Root         json.RawMessage
	Priority     event.Priority
	Lane         Lane
	DedupeWindow event.Duration
	Redelivery   Redelivery
	// Headers, Query and Path are what the receipt keeps.
	Headers, Query, Path map[string]string
}

// maxSource is in bytes.
const maxSource = 200

// newInput is what expressions see.
func newInput(headers, query, path map[string]string, body, root any) input {
	return input{root: root, value: map[string]any{
		"headers": values(headers), "query": values(query), "path": values(path), "body": body,
	}}
}

// Split gives the events of an authentic request, in their order; an empty batch gives none. An authentic request is
// never refused for its content: what cannot be read becomes one item, and the parse step finds out why. The error is
// only ever that the evaluation took too long, which says nothing about the request.
func (p *Provider) Split(r *Request) ([]Item, error) {
	ctx, cancel := context.WithTimeout(context.Background(), evaluationDeadline)
	defer cancel()
	headers, query, path := p.kept.keep(r)
	parts, root := p.partsOf(r.Body)
	var rootValue any
	if root != nil {
		rootValue, _ = decodeJSON(root)
	}
	items := make([]Item, 0, len(parts))
	for _, part := range parts {
		body, err := p.decodeWanted(headers["content-type"], part, p.wanted)
		item := Item{
			Body: part, Root: root, Redelivery: p.redelivery, Headers: headers, Query: query, Path: path,
		}
		in := newInput(headers, query, path, body, rootValue)
		whole := len(p.batch) > 0 && root == nil // a batch that could not be split is no event
		if err := p.identify(ctx, &item, in, err == nil && !whole, r.passed); err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// identify fills in what the expressions say of an item.
func (p *Provider) identify(ctx context.Context, item *Item, in input, decoded bool, passed scheme) error {
	if decoded {
		var err error
		if item.Type, err = p.eventType(ctx, in); isDeadline(err) {
			return p.typeOf.failed(err)
		}
	}
	source, err := p.sourceOf.first(ctx, in, nil)
	if isDeadline(err) {
		return p.sourceOf.failed(err)
	}
	name, _ := text(source)
	item.Source = cleanText(name, maxSource)
	r := p.rulesFor(item.Type)
	if r.key == nil || !r.key.unsigned && !r.key.onlyBody {
		in = p.covered(in, passed)
	}
	id, err := r.key.identify(ctx, in, decoded, item.Body)
	if err != nil {
		return p.typeOf.failed(err)
	}
	item.Key, item.KeyFrom = event.CanonicalKey(p.name, id.key), id.from
	item.Priority, item.Lane, item.DedupeWindow = r.priority, r.laneOf(item), r.dedupe
	if id.from != event.KeyFromEvent {
		item.DedupeWindow = id.window
	}
	return nil
}

// eventType is the type as it is stored: bounded, without control characters; "" if the event has none.
func (p *Provider) eventType(ctx context.Context, in input) (string, error) {
	v, err := p.typeOf.first(ctx, in, nil)
	if err != nil {
		return "", err
	}
	s, _ := text(v)
	return cleanText(s, event.MaxTypeLength), nil
}

// partsOf gives the bytes of each event of a body, and the envelope without them.
func (p *Provider) partsOf(body []byte) ([][]byte, json.RawMessage) {
	if len(p.batch) == 0 {
		return [][]byte{body}, nil
	}
	parts, root, ok := cutItems(body, p.batch)
	if !ok {
		return [][]byte{body}, nil
	}
	return parts, bytes.Clone(root)
}
