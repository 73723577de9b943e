package movein

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

// answering is a system whose API answers with a text for each path.
func answering(t *testing.T, from From, answers map[string]string) System {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	s, err := Open(Source{From: from, URL: server.URL, Token: "token", Project: "p1", Signing: "the-signing-secret-of-hookdeck"})
	require.NoError(t, err)
	return s
}

func endpointsOf(t *testing.T, s System) map[string]Endpoint {
	t.Helper()
	all := map[string]Endpoint{}
	require.NoError(t, s.Endpoints(t.Context(), func(e Endpoint) error {
		require.NotContains(t, all, e.Destination.Name)
		all[e.Destination.Name] = e
		return nil
	}))
	return all
}

// A list whose pages repeat ends with an error: neither never, nor as if it were complete.
func TestPagesThatRepeatAreRefused(t *testing.T) {
	t.Parallel()
	for from, pages := range map[From][]string{
		Svix: {
			`{"data": [], "done": false, "iterator": "a"}`, `{"data": [], "done": false, "iterator": "b"}`,
			`{"data": [], "done": false, "iterator": ""}`,
		},
		Convoy: {
			`{"data": {"content": [], "pagination": {"has_next_page": true, "next_page_cursor": "a"}}}`,
			`{"data": {"content": [], "pagination": {"has_next_page": true, "next_page_cursor": "b"}}}`,
			`{"data": {"content": [], "pagination": {"has_next_page": true, "next_page_cursor": ""}}}`,
		},
		Hookdeck: {`{"pagination": {"next": "a"}}`, `{"pagination": {"next": "b"}}`},
		Outpost:  {`{"pagination": {"next": "a"}}`, `{"pagination": {"next": "b"}}`},
	} {
		for _, of := range [][]string{pages[:1], pages[:2], pages[2:]} {
			if len(of) == 0 {
				continue
			}
			var n atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if n.Add(1) > 100 {
					w.WriteHeader(http.StatusTeapot)
				}
				_, _ = w.Write([]byte(of[int(n.Load())%len(of)]))
			}))
			t.Cleanup(server.Close)
			s, err := Open(Source{From: from, URL: server.URL, Token: "token", Project: "p1"})
			require.NoError(t, err)
			err = s.Events(t.Context(), Selection{Since: time.Now()}, func(Event) error { return nil })
			require.ErrorContains(t, err, "page", "%s %s", from, of)
		}
	}
}

// A small answer can't fill the memory with empty items.
func TestAPageHasAMaximum(t *testing.T) {
	t.Parallel()
	items := strings.TrimSuffix(strings.Repeat("{},", 100_000), ",")
	for from, answer := range map[From]string{
		Svix: `{"data": [` + items + `], "done": true}`, Convoy: `{"data": {"content": [` + items + `]}}`,
		Hookdeck: `{"models": [` + items + `]}`, Outpost: `{"models": [` + items + `]}`,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) }))
		t.Cleanup(server.Close)
		s, err := Open(Source{From: from, URL: server.URL, Token: "token", Project: "p1"})
		require.NoError(t, err)
		err = s.Events(t.Context(), Selection{Since: time.Now()}, func(Event) error { return nil })
		require.ErrorContains(t, err, "more than", from)
	}
}

// Tenants of an Outpost may use the same IDs: what one has got, the other hasn't.
func TestTenantsMayUseTheSameIDs(t *testing.T) {
	t.Parallel()
	s := answering(t, Outpost, map[string]string{
		"/api/v1/tenants":                 `{"models": [{"id": "t1"}, {"id": "t2"}]}`,
		"/api/v1/tenants/t1/destinations": `[{"id": "main", "type": "webhook", "topics": "*", "config": {"url": "https://one.example.com"}}]`,
		"/api/v1/tenants/t2/destinations": `[{"id": "main", "type": "webhook", "topics": "*", "config": {"url": "https://two.example.com"}}]`,
		"/api/v1/events": `{"models": [
			{"id": "e1", "tenant_id": "t1", "topic": "a", "matched_destination_ids": ["main"], "data": {}},
			{"id": "e1", "tenant_id": "t2", "topic": "a", "matched_destination_ids": ["main"], "data": {}}]}`,
		"/api/v1/attempts": `{"models": [{"tenant_id": "t1", "event_id": "e1", "destination_id": "main", "status": "success"}]}`,
	})
	endpoints := endpointsOf(t, s)
	require.Len(t, endpoints, 2)
	var undelivered []Event
	require.NoError(t, s.Events(t.Context(), Selection{Undelivered: true}, func(e Event) error {
		undelivered = append(undelivered, e)
		return nil
	}))
	require.Len(t, undelivered, 1)
	require.Equal(t, "t2", undelivered[0].Source)
	require.Equal(t, "https://two.example.com", endpoints[undelivered[0].To].Destination.HTTP.URL)
}

// Everything that an endpoint lacks is in its reason, which an operator reads before resuming it.
func TestAReasonNamesEverythingMissing(t *testing.T) {
	t.Parallel()
	e := Endpoint{State: delivery.DestinationPaused, Reason: "paused in Convoy"}
	e.hold("password", "set it")
	e.hold("function", "translate it")
	require.Equal(t, delivery.DestinationPaused, e.State)
	for _, part := range []string{"paused in Convoy", "without its password: set it", "without its function: translate it"} {
		require.Contains(t, e.Reason, part)
	}
	e.hold("filter", strings.Repeat("ä", 2000))
	require.LessOrEqual(t, len(e.Reason), 1024, "the API refuses longer ones")
	require.Contains(t, e.Reason, "paused in Convoy")
}

// An endpoint that Holdfast refuses is named, and the others are imported.
func TestAnEndpointThatIsRefusedIsLost(t *testing.T) {
	t.Parallel()
	endpoints := endpointsOf(t, answering(t, Svix, map[string]string{
		"/api/v1/app": `{"data": [{"id": "app"}], "done": true}`,
		"/api/v1/app/app/endpoint": `{"data": [
			{"id": "one", "url": "https://ada:pass-word@one.example.com/hooks", "filterTypes": []},
			{"id": "two", "url": "https://two.example.com/hooks#token"},
			{"id": "three", "url": "https://three.example.com/hooks"}], "done": true}`,
		"/api/v1/app/app/endpoint/one/secret":    `{"key": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}`,
		"/api/v1/app/app/endpoint/two/secret":    `{"key": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}`,
		"/api/v1/app/app/endpoint/three/secret":  `{"key": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}`,
		"/api/v1/app/app/endpoint/three/headers": `{"headers": {"Webhook-Id": "x"}}`,
	}))
	one := endpoints["svix-one"]
	require.Equal(t, "https://one.example.com/hooks", one.Destination.HTTP.URL)
	require.Equal(t, delivery.Headers{"authorization": "Basic YWRhOnBhc3Mtd29yZA=="}, one.Destination.HTTP.Headers)
	require.NoError(t, one.Destination.Check())
	require.NoError(t, one.Subscriptions[0].CheckFor(one.Destination))
	for _, name := range []string{"svix-two", "svix-three"} {
		refused := endpoints[name]
		require.Nil(t, refused.Destination.HTTP, name)
		require.Equal(t, "destination", refused.Lost[len(refused.Lost)-1].What)
	}
	require.NotContains(t, fmt.Sprint(endpoints["svix-two"].Lost), "token")
}

// Svix replaces a deleted payload with a text, which isn't the message.
func TestAPayloadThatIsGoneIsMarked(t *testing.T) {
	t.Parallel()
	s := answering(t, Svix, map[string]string{
		"/api/v1/app":         `{"data": [{"id": "app"}], "done": true}`,
		"/api/v1/app/app/msg": `{"data": [{"id": "m1", "payload": {"expired": true}}, {"id": "m2", "payload": {"expired": false}}], "done": true}`,
	})
	var gone []bool
	require.NoError(t, s.Events(t.Context(), Selection{}, func(e Event) error { gone = append(gone, e.IsGone); return nil }))
	require.Equal(t, []bool{true, false}, gone)
}

// An endpoint of Convoy may verify the first of several versions, which only the advanced header has. One whose secret can't be
// used is paused, too.
func TestASignatureThatWouldDifferPausesAnEndpoint(t *testing.T) {
	t.Parallel()
	endpoints := endpointsOf(t, answering(t, Convoy, map[string]string{
		"/api/v1/projects/p1": `{"data": {"config": {"signature": {"header": "X-Sig", "versions": [
			{"hash": "SHA256", "encoding": "hex"}, {"hash": "SHA512", "encoding": "base64"}]}}}}`,
		"/api/v1/projects/p1/subscriptions": `{}`,
		"/api/v1/projects/p1/endpoints": `{"data": {"content": [
			{"uid": "a", "url": "https://a.example.com", "advanced_signatures": true, "secrets": [{"value": "a-secret-long-enough"}]},
			{"uid": "b", "url": "https://b.example.com", "secrets": [{"value": "a-secret-long-enough"}]},
			{"uid": "c", "url": "https://c.example.com", "secrets": []},
			{"uid": "d", "url": "https://d.example.com", "secrets": [{"value": "a-secret-of-two\nlines-and-more"}]}]}}`,
	}))
	require.Equal(t, delivery.DestinationPaused, endpoints["convoy-a"].State)
	require.Equal(t, delivery.DestinationReady, endpoints["convoy-b"].State, "a simple header has always had the newest alone")
	require.Contains(t, endpoints["convoy-c"].Reason, "it has none")
	require.Contains(t, endpoints["convoy-d"].Reason, "one line", "Holdfast would refuse it, and all endpoints with it")
	require.Empty(t, endpoints["convoy-d"].Secrets)
}

// An Outpost may not return its settings, or sign in custom headers: a plan says so.
func TestSignatureSettingsOfOutpost(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"/api/v1/tenants": `{"models": [{"id": "t1"}]}`,
		"/api/v1/tenants/t1/destinations": `[{"id": "main", "type": "webhook", "topics": "*", "config": {"url": "https://one.example.com"},
			"credentials": {"secret": "whsec_abc123def456ghi"}, "filter": {"metadata": {"region": "eu"}}}]`,
	}
	unknown := endpointsOf(t, answering(t, Outpost, answers))[nameInOutpost("t1", "main")]
	require.Equal(t, "signature settings", unknown.Lost[0].What)
	require.Contains(t, unknown.Reason, "not of metadata", "published events have none")
	answers["/api/v1/config"] = `{"DESTINATIONS_WEBHOOK_MODE": "standard"}`
	standard := endpointsOf(t, answering(t, Outpost, answers))[nameInOutpost("t1", "main")]
	require.NotContains(t, standard.Reason, "header prefix")
	require.Nil(t, standard.Destination.HTTP.Signature)
	answers["/api/v1/config"] = `{"DESTINATIONS_WEBHOOK_MODE": "standard", "DESTINATIONS_WEBHOOK_HEADER_PREFIX": "x-acme-"}`
	acme := endpointsOf(t, answering(t, Outpost, answers))[nameInOutpost("t1", "main")]
	require.Contains(t, acme.Reason, "header prefix")
}

// A redirect gets no token, and an error has nothing of an answer.
func TestAnAnswerIsntRepeated(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	t.Cleanup(elsewhere.Close)
	for name, answer := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) },
		"page":     func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>the-secret</html>")) },
		"type": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"data": [{"id": {"the-secret": "the-secret"}}]}`))
		},
		"time": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"data": [{"id": "app", "timestamp": "the-secret"}], "done": true}`))
		},
	} {
		server := httptest.NewServer(answer)
		t.Cleanup(server.Close)
		s, err := Open(Source{From: Svix, URL: server.URL, Token: "the-secret"})
		require.NoError(t, err)
		err = s.Events(t.Context(), Selection{}, func(Event) error { return nil })
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "the-secret", name)
	}
}

// A response that is too large is named as the cause, although its text, which was cut, isn't JSON either.
func TestAPageThatIsTooLarge(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"data": [], "more": "`))
		for part := []byte(strings.Repeat("x", 1<<20)); ; {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	s, err := Open(Source{From: Svix, URL: server.URL, Token: "token"})
	require.NoError(t, err)
	err = s.Endpoints(t.Context(), func(Endpoint) error { return nil })
	require.ErrorContains(t, err, "over 64 MiB")
}

// A token goes in clear to another host without TLS, but not to this machine.
func TestATokenInClear(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"http://gateway.example.com": true, "HTTP://10.0.0.7:5005": true, "http://localhost.example.com": true,
		"https://gateway.example.com": false, "http://localhost:8071": false, "http://127.0.0.1:5005": false, "http://[::1]:5005": false,
	} {
		require.Equal(t, want, Source{URL: address, Token: "token"}.SendsTokenInClear(), address)
	}
	require.False(t, Source{URL: "http://gateway.example.com"}.SendsTokenInClear(), "there is no token")
}
