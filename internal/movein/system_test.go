package movein

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

// written starts a server with the answers of a file: each has a path, perhaps a part of the query that selects it, and the text.
// The files were written by hand, not recorded from a running system: for Svix and Hookdeck after their clients' models (npm: svix
// 1.99.1, @hookdeck/sdk 0.4.0), for Convoy and Outpost after their sources (2b60cc65, f67ae011), which e2e/importer runs. The test
// fails for anything but a GET with the token.
func written(t *testing.T, file string) *httptest.Server {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	var answers []struct {
		Path   string          `json:"path"`
		Query  string          `json:"query"`
		Answer json.RawMessage `json:"answer"`
	}
	require.NoError(t, json.Unmarshal(text, &answers))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.Header.Get("Authorization") != "Bearer token" {
			t.Errorf("%s %s isn't a read with the token", r.Method, r.URL.Path)
		}
		for _, a := range answers {
			if a.Path == r.URL.Path && strings.Contains(r.URL.RawQuery, a.Query) {
				_, _ = w.Write(a.Answer)
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	return server
}

func read(t *testing.T, from From, file string) (endpoints map[string]Endpoint, undelivered, history []Event) {
	t.Helper()
	s, err := Open(Source{
		From: from, URL: written(t, file).URL, Token: "token", Project: "p1", Signing: "the-signing-secret-of-hookdeck",
	})
	require.NoError(t, err)
	endpoints = map[string]Endpoint{}
	require.NoError(t, s.Endpoints(t.Context(), func(e Endpoint) error {
		endpoints[e.Destination.Name] = e
		if e.Destination.HTTP == nil {
			return nil // it can't be imported
		}
		require.NoError(t, e.Destination.Check())
		for _, one := range e.Subscriptions {
			require.NoError(t, one.CheckFor(e.Destination))
		}
		return nil
	}))
	since := time.Now().AddDate(-10, 0, 0)
	collect := func(into *[]Event) func(Event) error {
		return func(e Event) error { *into = append(*into, e); return nil }
	}
	require.NoError(t, s.Events(t.Context(), Selection{Since: since, Undelivered: true, Failed: true}, collect(&undelivered)))
	require.NoError(t, s.Events(t.Context(), Selection{Since: since}, collect(&history)))
	return endpoints, undelivered, history
}

func TestSvix(t *testing.T) {
	t.Parallel()
	endpoints, undelivered, history := read(t, Svix, "svix.json")
	require.Len(t, endpoints, 2)
	one := endpoints["svix-ep_1"]
	require.Equal(t, "https://one.example.com/hooks", one.Destination.HTTP.URL)
	require.Equal(t, &delivery.Rate{Requests: 20, Per: durationOf(1)}, one.Destination.Rate)
	require.Equal(t, delivery.Headers{"x-team": "blue"}, one.Destination.HTTP.Headers)
	require.Equal(t, []Signing{{Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}, one.Secrets)
	require.Equal(t, []string{"order.paid"}, one.Subscriptions[0].Events.Types)
	require.Equal(t, delivery.DestinationPaused, one.State, "a header's value isn't known")
	matches(t, one.Subscriptions[0].Events.Filter, `{"source": "customer-7", "channels": ["b", "a"]}`, true)
	matches(t, one.Subscriptions[0].Events.Filter, `{"source": "customer-7", "channels": ["b"]}`, false)
	matches(t, one.Subscriptions[0].Events.Filter, `{"source": "customer-7"}`, false)
	two := endpoints["svix-ep_2"]
	require.Equal(t, delivery.DestinationDisabled, two.State)
	require.False(t, two.Subscriptions[0].Active)

	require.Len(t, undelivered, 2)
	require.Equal(t, "svix-ep_1", undelivered[0].To)
	require.Equal(t, "evt-7", undelivered[0].ID, "the publisher's own ID is the key")
	require.Equal(t, "msg_2", undelivered[1].ID)
	require.JSONEq(t, `{"total": 12345678901234567890}`, string(undelivered[0].Data))
	require.Len(t, history, 2, "both pages")
}

func TestHookdeck(t *testing.T) {
	t.Parallel()
	endpoints, undelivered, history := read(t, Hookdeck, "hookdeck.json")
	require.Len(t, endpoints, 2)
	one := endpoints["hookdeck-web_1"]
	require.Equal(t, delivery.DestinationReady, one.State, one.Reason)
	require.Equal(t, 3, one.Destination.Retry.Attempts)
	matches(t, one.Subscriptions[0].Events.Filter, `{"source": "shop", "data": {"total": 12}}`, true)
	matches(t, one.Subscriptions[0].Events.Filter, `{"source": "shop", "data": {"total": 3}}`, false)
	matches(t, one.Subscriptions[0].Events.Filter, `{"source": "shop", "data": {}}`, false)
	two := endpoints["hookdeck-web_2"]
	require.Equal(t, delivery.DestinationPaused, two.State)
	require.Contains(t, two.Reason, "paused in Hookdeck since 2026-11-20")
	require.Equal(t, delivery.Headers{"authorization": "Bearer bearer-secret"}, two.Destination.HTTP.Headers)
	require.Contains(t, two.Lost, Loss{"transformation", "its JavaScript needs to become the subscription's body, in jq"})
	require.Len(t, undelivered, 1)
	require.Equal(t, Event{
		ID: "req_1", Source: "shop", Type: "hookdeck.shop", At: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC),
		Data: json.RawMessage(`{"total":12}`), Attempts: 2, To: "hookdeck-web_1",
	}, undelivered[0])
	require.Len(t, history, 1)
}

func TestConvoy(t *testing.T) {
	t.Parallel()
	endpoints, undelivered, history := read(t, Convoy, "convoy.json")
	one := endpoints["convoy-01a"]
	require.Equal(t, delivery.DestinationReady, one.State, one.Reason)
	require.Len(t, one.Secrets, 2)
	require.Equal(t, Secret("the-newer-secret-of-one"), one.Secrets[0].Secret)
	require.Equal(t, time.Date(2026, 11, 29, 15, 0, 0, 0, time.UTC), one.Secrets[1].Until, "five hours, although expires_at says seconds")
	require.JSONEq(t, `{"hmac": {
		"algorithm": "sha256", "encoding": "hex", "signed": "{timestamp},{body}", "timestamp": {"field": "t"},
		"signature": {"header": "X-Convoy-Signature", "grammar": "pairs", "separator": ",", "field": "v1"}
	}}`, string(one.Destination.HTTP.Signature))
	filter := one.Subscriptions[0].Events.Filter
	matches(t, filter, `{"source": "owner-1", "data": {"total": 12, "country": "DE"}}`, true)
	matches(t, filter, `{"source": "owner-1", "data": {"total": 3, "country": "DE"}}`, false)
	matches(t, filter, `{"source": "owner-1", "data": {"country": "DE"}}`, true) // as Convoy does
	matches(t, filter, `{"source": "owner-1", "data": {}}`, false)
	matches(t, filter, `{"source": "owner-2", "data": {"total": 12, "country": "DE"}}`, false)
	require.Equal(t, delivery.DestinationPaused, endpoints["convoy-01b"].State)
	require.Contains(t, endpoints["convoy-01b"].Lost[0].Why, "it has 5 bytes")
	require.Equal(t, delivery.DestinationDisabled, endpoints["convoy-01c"].State)

	require.Len(t, undelivered, 2)
	require.Equal(t, "owner-3", undelivered[1].Source)
	require.JSONEq(t, string(undelivered[0].Data), string(undelivered[1].Data), "the body is in the delivery, or in the event")
	require.Equal(t, "key-1", undelivered[0].ID)
	require.Equal(t, "owner-1", undelivered[0].Source)
	require.Equal(t, "convoy-sub-1", undelivered[0].To)
	require.Len(t, history, 1, "a duplicate isn't an event")
}

func TestOutpost(t *testing.T) {
	t.Parallel()
	endpoints, undelivered, _ := read(t, Outpost, "outpost.json")
	one := endpoints[nameInOutpost("t1", "des_1")]
	require.Equal(t, delivery.Headers{"x-key": "k", "x-outpost-region": "eu"}, one.Destination.HTTP.Headers)
	require.Equal(t, []string{"order.*"}, one.Subscriptions[0].Events.Types)
	matches(t, one.Subscriptions[0].Events.Filter, `{"source": "t1", "data": {"tier": "gold"}}`, true)
	matches(t, one.Subscriptions[0].Events.Filter, `{"source": "t1", "data": {"tier": "tin"}}`, false)
	require.Nil(t, endpoints[nameInOutpost("t1", "des_2")].Destination.HTTP, "it is a queue")
	require.Len(t, undelivered, 1, "the other destination has got it")
	require.Equal(t, nameInOutpost("t1", "des_1"), undelivered[0].To)
}

// Neither an error nor a formatted value has a secret or a payload.
func TestSecretsArentPrinted(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/projects/p1":
			_, _ = w.Write([]byte(`{"data": {"type": "the-secret"`))
		default:
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`the-secret`))
		}
	}))
	t.Cleanup(server.Close)
	for _, from := range []From{Convoy, Svix} {
		s, err := Open(Source{From: from, URL: server.URL, Token: "the-secret", Project: "p1"})
		require.NoError(t, err)
		err = s.Endpoints(t.Context(), nil)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "the-secret")
	}
	text, err := json.Marshal(Signing{Secret: "the-secret"})
	require.NoError(t, err)
	require.NotContains(t, string(text), "the-secret")
}
