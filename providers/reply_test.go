package providers

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
)

// Slack's handshake is answered with its challenge; nothing else is a handshake.
func TestChallenge(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "slack", secretOfTests)
	reply, ok := p.Challenge(&auth.Request{Body: []byte(`{"type":"url_verification","challenge":"3eZbrw1a","token":"x"}`)}, clock)
	require.True(t, ok)
	require.Equal(t, Reply{Status: 200, ContentType: "text/plain; charset=utf-8", Body: []byte("3eZbrw1a")}, reply)
	for _, body := range []string{`{"type":"event_callback"}`, `{`, ``, `[]`,
		`{"type":"url_verification","challenge":"` + strings.Repeat("x", 5000) + `"}`} {
		_, ok := p.Challenge(&auth.Request{Body: []byte(body)}, clock)
		require.False(t, ok, body)
	}
}

// A question has an answer even where nobody else gives one.
func TestQuestion(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "retell", secretOfTests)
	q, ok := p.Question("call_inbound")
	require.True(t, ok)
	require.Equal(t, "RETELL_INBOUND_URL", q.Handler)
	items, err := p.Split(&auth.Request{Body: []byte(`{"event":"call_inbound","call_inbound":{"from_number":"+1"}}`)})
	require.NoError(t, err)
	reply, err := q.Fallback(p, &items[0])
	require.NoError(t, err)
	require.Equal(t, Reply{Status: 200, ContentType: "application/json", Body: []byte(`{"call_inbound":{}}`)}, reply)
	_, ok = p.Question("call_ended")
	require.False(t, ok)
}

func TestRepliesAndRates(t *testing.T) {
	t.Parallel()
	gocardless := providerOf(t, "gocardless")
	require.Equal(t, Replies{Accepted: 200, Duplicate: 200, Unauthentic: 498, TooLarge: 413, RateLimited: 429, Unavailable: 503},
		gocardless.Replies())
	require.Equal(t, 202, providerOf(t, "stripe").AckStatus())
	require.Equal(t, &Rate{Requests: 2000, Per: event.Duration(time.Minute)}, providerOf(t, "stripe").Rate())
	require.Nil(t, providerOf(t, "stripe").ClientRate())
	require.Equal(t, 30, providerOf(t, "rentprog").ClientRate().Requests)
}

// The rate that is configured for all providers is that of those whose definition says nothing of one:
//   - a definition's own rate stands
//   - so does none, also where the definition that it extends has a rate
//   - a reload keeps it
func TestARateForAllProviders(t *testing.T) {
	t.Parallel()
	const own, none = "rate: {requests: 5, per: 1s}\n", "rate: none\n"
	dir := writeDefinitions(t, map[string]string{
		"acme.yaml": minimal, "own.yaml": "name: own\nextends: acme\n" + own, "none.yaml": "name: none\nextends: own\n" + none,
		"again.yaml": "name: again\nextends: own\nrate: null\n",
	})
	live, err := LoadLive(dir, nil, NewRate(100, time.Minute), nil)
	require.NoError(t, err)
	for range 2 {
		for name, want := range map[string]*Rate{
			"acme": NewRate(100, time.Minute), "own": NewRate(5, time.Second), "none": nil, "again": NewRate(100, time.Minute),
			"rentprog": nil, "stripe": NewRate(2000, time.Minute),
		} {
			p, ok := live.Lookup(name)
			require.True(t, ok, name)
			require.Equal(t, want, p.Rate(), name)
		}
		require.NoError(t, live.Reload(func(_, _ *Catalogue) error { return nil }))
	}
	for definition, mistake := range map[string]string{
		minimal + "source_rate: {requests: 1, per: 1s}\n": "there is no source",
		minimal + "rate: off\n":                           "want a map",
		minimal + "rate: {requests: 0, per: 1s}\n":        "want at least 1",
	} {
		_, err := loadOne(t, definition)
		require.ErrorContains(t, err, mistake)
	}
}
