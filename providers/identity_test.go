package providers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/reading"
)

// providerWithKey compiles the minimal definition with a key.
func providerWithKey(t testing.TB, key string) *Provider {
	t.Helper()
	c, err := Load(writeDefinitions(t, map[string]string{
		"acme.yaml": strings.Replace(minimal, "key: {parts: [.body.id]}", key, 1),
	}))
	require.NoError(t, err)
	p, _ := c.Lookup("acme")
	return p
}

// receive returns the receipt that an ingress with the definition makes.
func receive(t testing.TB, p *Provider, body string) event.Receipt {
	t.Helper()
	items, err := p.Split(&auth.Request{Body: []byte(body)})
	require.NoError(t, err)
	return receiptOfItem(p, items[0])
}

func receiptOfItem(p *Provider, item reading.Item) event.Receipt {
	return event.Receipt{
		ID: "one", Provider: p.Name(), Source: item.Source, Key: item.Key, KeyFrom: item.KeyFrom, DedupeWindow: item.DedupeWindow,
		Fingerprint: item.Fingerprint, Certain: item.Certain, Content: item.Content, Earlier: item.Earlier, Type: item.Type,
		Headers: item.Headers, Query: item.Query, Path: item.Path, Root: item.Root, Definition: p.Digest(),
	}
}

// An event is parsed with a corrected definition:
//   - its identity is what an ingress with that definition would give it
//   - with the definition of its receipt, and with one that identifies it alike, there is none in the result
//   - a definition that finds no key changes nothing
//   - an edited body, and one that isn't the sender's, is compared with no other
func TestACorrectedDefinitionIdentifiesAgain(t *testing.T) {
	t.Parallel()
	const body = `{"id":"evt_1","type":"order.paid","n":7}`
	wrong := providerWithKey(t, "key: {parts: [.body.event_id], certainty: certain}")
	right := providerWithKey(t, "key: {parts: [.body.id], certainty: certain}")
	guess := providerWithKey(t, "key: {certainty: guessed, in_doubt: hold, retry_span: 1h, parts: [.body.n]}")
	same := providerWithKey(t, "title: Acme\nkey: {parts: [.body.id], certainty: certain}")
	for _, now := range []*Provider{right, guess} {
		r := receive(t, wrong, body)
		p, err := now.Parse(r, []byte(body))
		require.NoError(t, err)
		require.Equal(t, receive(t, now, body).Identity(), *p.Identity)
	}
	p, err := right.Parse(receive(t, guess, body), []byte(body))
	require.NoError(t, err)
	require.Equal(t, "evt_1", p.Identity.Key)
	p, err = same.Parse(receive(t, right, body), []byte(body))
	require.NoError(t, err)
	require.NotEqual(t, right.Digest(), same.Digest())
	require.Nil(t, p.Identity)
	p, err = wrong.Parse(receive(t, right, body), []byte(body))
	require.NoError(t, err)
	require.Nil(t, p.Identity)

	edited := receive(t, wrong, body)
	edited.Key, edited.Replaces = event.RevisedKey(edited.Key, 1), "original"
	p, err = right.Parse(edited, []byte(body))
	require.NoError(t, err)
	require.Equal(t, "evt_1", p.Identity.Key)
	require.Empty(t, p.Identity.Fingerprint)
}

// The second of two equal items of a request stays an event of its own under a corrected key that is guessed, too.
func TestEqualItemsStayTwoEvents(t *testing.T) {
	t.Parallel()
	const guessed = "batch: {items: events}\nkey: {certainty: guessed, in_doubt: accept, retry_span: 1h, parts: [.body.%s]}"
	before, now := providerWithKey(t, fmt.Sprintf(guessed, "id")), providerWithKey(t, fmt.Sprintf(guessed, "n"))
	request := &auth.Request{Body: []byte(`{"events":[{"id":"1","n":7,"type":"a"},{"id":"1","n":7,"type":"a"}]}`)}
	items, err := before.Split(request)
	require.NoError(t, err)
	want, err := now.Split(request)
	require.NoError(t, err)
	for i, item := range items {
		p, err := now.Parse(receiptOfItem(before, item), item.Body)
		require.NoError(t, err)
		require.Equal(t, want[i].Key, p.Identity.Key)
	}
	require.NotEqual(t, want[0].Key, want[1].Key)
}
