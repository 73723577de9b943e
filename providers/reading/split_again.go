package reading

import (
	"cmp"
	"context"
	"encoding/json"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/decode"
	"holdfast/providers/jq"
)

// SplitAgain returns the events that this definition makes of one that was accepted as a whole, under another definition or
// before an operator edited it. They are those of a request that the ingress receives now; an empty batch has none. splits is
// false if it makes one event of it, too, or if the receipt lacks what the ingress would read.
//
// A large body waits for its turn (see decode.Turn).
func (p *Reader) SplitAgain(r event.Receipt, body []byte) (items []Item, splits bool, err error) {
	if !p.maySplit(r) {
		return nil, false, nil
	}
	done, err := decode.Turn(context.Background(), len(body))
	if err != nil {
		return nil, false, err
	}
	defer done()
	parts, root, splits := p.partsAgain(r, body)
	if !splits {
		return nil, false, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), jq.DeadlineOf(len(body)))
	defer cancel()
	items, err = p.itemsOf(ctx, storedRequest(r, body), parts, root, p.coverage)
	return items, err == nil, err
}

// partsAgain cuts the body. The parts aren't identified yet.
func (p *Reader) partsAgain(r event.Receipt, body []byte) (parts []Item, root json.RawMessage, splits bool) {
	bodies, root := [][]byte{body}, r.Root
	if root == nil {
		bodies, root = p.bodiesOf(body)
	}
	parts = p.cut(bodies, root)
	return parts, root, len(parts) != 1 || (root == nil) != (r.Root == nil)
}

// ParseWhole returns the result of the parse step for an event that is split; nil if it isn't. An empty batch is ignored.
func (p *Reader) ParseWhole(r event.Receipt, body []byte) (*event.Parsed, error) {
	if !p.maySplit(r) {
		return nil, nil //nolint:nilnil // it is one event
	}
	done, err := decode.Turn(context.Background(), len(body))
	if err != nil {
		return nil, err
	}
	defer done()
	parts, _, splits := p.partsAgain(r, body)
	if !splits {
		return nil, nil //nolint:nilnil // as above
	}
	parsed := &event.Parsed{
		Type: cmp.Or(r.Type, UnknownType), OccurredAt: r.ReceivedAt, OccurredAtMissing: true, Outcome: event.OutcomeProcessed,
		Policy: p.Policy(r.Type), Splits: len(parts),
	}
	if len(parts) == 0 {
		parsed.Outcome = event.OutcomeIgnored
	}
	return parsed, nil
}

// maySplit reports whether the body may be more than one event by this definition. The second of equal items of a request stays
// whole, since its parts would have the keys of the first one's.
func (p *Reader) maySplit(r event.Receipt) bool {
	if checkCut(r) != nil {
		return false
	}
	if p.batch == nil && len(p.parts.Paths) == 0 || r.Definition == p.digest && r.Replaces == "" || !isKeptWhole(r) {
		return false
	}
	suffix, ok := suffixOf(r)
	return ok && suffix == ""
}

// storedRequest returns what a receipt has of its request.
func storedRequest(r event.Receipt, body []byte) *auth.Request {
	return &auth.Request{Header: listsOf(r.Headers), Query: listsOf(r.Query), PathParams: r.Path, Body: body}
}

func listsOf(values map[string]string) map[string][]string {
	lists := make(map[string][]string, len(values))
	for name, value := range values {
		lists[name] = []string{value}
	}
	return lists
}
