package reading

import (
	"context"
	"slices"
	"strings"

	"holdfast/event"
	"holdfast/providers/decode"
	"holdfast/providers/jq"
	"holdfast/providers/mapping"
)

// identifyAgain returns how the definition identifies an event that was accepted under another one; nil if as its receipt says,
// or if the receipt lacks what the ingress would read. An event that this definition can't identify keeps its key.
func (p *Reader) identifyAgain(ctx context.Context, r event.Receipt, body []byte) (*event.Identity, error) {
	if r.Definition == p.digest || !isKeptWhole(r) {
		return nil, nil //nolint:nilnil // there is nothing to change
	}
	suffix, ok := suffixOf(r)
	if !ok {
		return nil, nil //nolint:nilnil // as above
	}
	item := Item{Received: event.Received{Receipt: event.Receipt{Root: r.Root}, Body: body}}
	var root any
	if r.Root != nil {
		root, _ = decode.JSONExactly(r.Root)
	}
	value, err := p.decoders.DecodeIdentity(r.Headers["content-type"], body)
	in := jq.NewInput(r.Headers, r.Query, r.Path, value, root)
	if err := p.describeItem(ctx, &item, in); err != nil {
		return nil, err
	}
	if err := p.identify(ctx, &item, in, err == nil, p.coverage); err != nil {
		return nil, err
	}
	if item.KeyFrom == event.KeyFromNothing {
		return nil, nil //nolint:nilnil // as above
	}
	if suffix != "" && item.Content != "" {
		item.Key, item.Earlier = event.CanonicalKey(p.name, item.Key+suffix), nil
	}
	return changed(r, &item), nil
}

// isKeptWhole reports whether the receipt has everything that the ingress has read of the request, next to its body.
func isKeptWhole(r event.Receipt) bool { return !mapping.MayBeCut(r.Headers, r.Query, r.Path) }

// suffixOf returns what distinguishes the second and later of equal items of a request; ok is false if the key is a hash, and
// doesn't show it.
func suffixOf(r event.Receipt) (suffix string, ok bool) {
	if r.Root == nil || r.Content == "" {
		return "", true
	}
	_, suffix, ok = strings.Cut(r.Key, r.Content)
	return suffix, ok
}

// changed returns the identity of an item, nil if it is the receipt's. What is stored without a fingerprint, because its text
// isn't the sender's, gets none. The keys of edits and conflicts are those of the event that they were made from, with a suffix.
func changed(r event.Receipt, item *Item) *event.Identity {
	now := event.Identity{
		Key: item.Key, KeyFrom: item.KeyFrom, Source: r.Source, DedupeWindow: item.DedupeWindow, Fingerprint: item.Fingerprint,
		Certain: item.Certain, Content: item.Content, Earlier: item.Earlier,
	}
	if item.Source != "" {
		now.Source = item.Source
	}
	if r.Replaces != "" || r.Imported != nil || r.Via == event.ViaRecover {
		now.Fingerprint = ""
	}
	if r.Replaces != "" {
		now.Content, now.Earlier = "", nil
	}
	if now.Equal(r.Identity()) || slices.Contains(originals(r), now.Key) {
		return nil
	}
	return &now
}

// originals returns the keys that the one of the receipt was made from.
func originals(r event.Receipt) (keys []string) {
	if r.ConflictsWith != "" && r.Earlier != nil {
		keys = append(keys, r.Earlier.Key)
	}
	if r.Replaces != "" {
		keys = append(keys, event.UnrevisedKey(r.Key))
	}
	return keys
}
