package providers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
)

// requestOfTest is a request with a header that definitions keep.
func requestOfTest(body string) *auth.Request {
	return &auth.Request{Body: []byte(body), Header: map[string][]string{
		"content-type": {"application/json"}, "x-account": {"7"}, "x-other": {"not kept"},
	}}
}

// acceptedWith returns the receipt of the only event that an ingress with the definition makes of a body.
func acceptedWith(t *testing.T, p *Provider, body string) event.Receipt {
	t.Helper()
	items, err := p.Split(requestOfTest(body))
	require.NoError(t, err)
	require.Len(t, items, 1)
	return receiptOfItem(p, items[0])
}

const keepsAccount = minimal + "keep: {headers: [x-account]}\n"

// A body was accepted as one event, and the corrected definition makes several of it: they are those of a request that arrives
// now, whatever their keys are made of.
func TestABodyIsSplitAgainAsTheIngressWould(t *testing.T) {
	t.Parallel()
	const body = `{"kind":"k","data":{"events":[{"id":1,"type":"a"},{"id":2,"type":"b"},{"id":2,"type":"b"}]},"list":[1,2,3,4,5]}`
	whole := mustLoad(t, keepsAccount)
	for name, change := range map[string]string{
		"items":         "batch: {items: data.events}\nkey: {parts: [.body.id]}",
		"kept header":   "batch: {items: data.events}\nkey: {unsigned: a test, parts: ['.headers[\"x-account\"]', .body.id]}",
		"root":          "batch: {items: data.events}\nkey: {parts: [.root.kind, .body.id]}",
		"guessed":       "batch: {items: data.events}\nkey: {certainty: guessed, in_doubt: hold, retry_span: 1h}",
		"parts":         "batch: {parts: {lists: [list], size: 2}}\nkey: {parts: [.body.kind, body_sha256]}",
		"items of size": "batch: {items: data.events, parts: {lists: [more], size: 2}}\nkey: {parts: [.body.id, body_sha256]}",
	} {
		p := mustLoad(t, strings.Replace(keepsAccount, "key: {parts: [.body.id]}", change, 1))
		arrived, err := p.Split(requestOfTest(body))
		require.NoError(t, err)
		r := acceptedWith(t, whole, body)
		again, splits, err := p.SplitAgain(r, []byte(body))
		require.NoError(t, err)
		require.True(t, splits, name)
		require.Len(t, again, 3, name)
		require.Equal(t, arrived, again, name)
		for _, item := range again {
			_, splits, err := p.SplitAgain(receiptOfItem(p, item), item.Body)
			require.NoError(t, err)
			require.False(t, splits, "an event of the split isn't split again")
		}
	}
}

// What isn't split again: an event of this definition, a body without a list of events, and an event of which the receipt may have
// kept too little, or that has a number among equal ones. An edited body may be another one. An empty batch has no events.
func TestEventsThatAreNotSplitAgain(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, batched)
	splits := func(body string, change func(*event.Receipt)) bool {
		t.Helper()
		r := event.Receipt{ID: "one", Provider: p.Name(), Key: "one", KeyFrom: event.KeyFromEvent, Definition: "another"}
		change(&r)
		items, splits, err := p.SplitAgain(r, []byte(body))
		require.NoError(t, err)
		require.Equal(t, splits && !strings.Contains(body, "[]"), len(items) > 0)
		return splits
	}
	const one = `{"data":{"events":[{"id":1}]}}`
	require.True(t, splits(one, func(*event.Receipt) {}))
	require.True(t, splits(`{"data":{"events":[]}}`, func(*event.Receipt) {}))
	require.False(t, splits(`{"data":{"events":7}}`, func(*event.Receipt) {}))
	require.False(t, splits(one, func(r *event.Receipt) { r.Definition = p.Digest() }))
	require.True(t, splits(one, func(r *event.Receipt) { r.Definition, r.Replaces = p.Digest(), "original" }))
	require.False(t, splits(one, func(r *event.Receipt) {
		r.Headers = map[string]string{"x": strings.Repeat("a", 100_000)}
	}))
	p = mustLoad(t, strings.Replace(minimal, "key: {parts: [.body.id]}",
		"batch: {parts: {lists: [list], size: 2}}\nkey: {parts: [.body.id, body_sha256]}", 1))
	second := func(r *event.Receipt) { r.Root, r.Content, r.Key = []byte(`{}`), "abc", "guess:abc:2" }
	require.False(t, splits(`{"list":[1,2,3]}`, second))
	require.True(t, splits(`{"list":[1,2,3]}`, func(r *event.Receipt) { second(r); r.Key = "guess:abc" }))
}
