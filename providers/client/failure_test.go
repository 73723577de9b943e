package client_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/fakeapi"
	"holdfast/providers/auth"
	"holdfast/providers/client"
	"holdfast/providers/recovery"
)

// first reads the first page of a list.
func first(t *testing.T, provider string, handler http.Handler, s auth.Secrets) (recovery.Page, error) {
	t.Helper()
	list := providerOf(t, provider).Recovery()
	w, err := list.Begin(start, start.Add(time.Hour), target(provider))
	require.NoError(t, err)
	w.Cursor = "a-cursor" // which no error repeats
	return client.New(serve(t, handler), s).Page(t.Context(), list, w)
}

func failureOf(t *testing.T, err error) *recovery.Error {
	t.Helper()
	var failed *recovery.Error
	require.ErrorAs(t, err, &failed)
	for cause := error(failed); cause != nil; {
		for _, private := range []string{fakeapi.Credential, "a-cursor", "cursor=", "limit=", "created", "secret of the answer"} {
			require.NotContains(t, cause.Error(), private)
		}
		next, ok := cause.(interface{ Unwrap() error })
		if !ok {
			break
		}
		cause = next.Unwrap()
	}
	return failed
}

// Each answer has an error of its own, which says what to do.
func TestFailuresAreDistinct(t *testing.T) {
	t.Parallel()
	list := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
	}
	status := func(code int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			_, _ = io.WriteString(w, "secret of the answer")
		}
	}
	many := `{"has_more": false, "data": [` + strings.TrimSuffix(strings.Repeat(`{"created": 1},`, 1001), ",") + `]}`
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		kind   recovery.Kind
		text   string
	}{
		"unauthorized":    {status(401), recovery.KindUnauthorized, "GET api.stripe.com/v1/events: 401, the credential is refused: check that STRIPE_API_KEY may read this"},
		"forbidden":       {status(403), recovery.KindUnauthorized, "403, the credential is refused"},
		"rate limit":      {status(429), recovery.KindLimited, "429, the provider's rate limit is reached"},
		"server error":    {status(502), recovery.KindUnavailable, "502, the provider failed"},
		"expired cursor":  {status(410), recovery.KindRefused, "410, the request is refused: its cursor may have expired"},
		"redirect":        {status(302, "location", "https://elsewhere.example.com/"), recovery.KindRefused, "302, a redirect, which isn't followed"},
		"no content":      {status(204), recovery.KindRefused, "204"},
		"cut off":         {list(`{"has_more": false, "data": [{"id": "evt_1"`), recovery.KindUnreadable, "the answer isn't complete JSON"},
		"HTML":            {list("\n<html>secret of the answer"), recovery.KindUnreadable, "GET api.stripe.com/v1/events: the answer is HTML or XML, not JSON"},
		"no list":         {list(`{"data": {}}`), recovery.KindUnreadable, "the answer has no list at recover.items"},
		"null":            {list(`{"data": null}`), recovery.KindUnreadable, "the answer has no list at recover.items"},
		"no time":         {list(`{"has_more": false, "data": [{"id": "e"}]}`), recovery.KindUnreadable, "an item has no time"},
		"empty, and more": {list(`{"has_more": true, "data": []}`), recovery.KindUnreadable, "GET api.stripe.com/v1/events: the answer says that there is more"},
		"empty, no more":  {list(`{"has_more": false, "data": []}`), "", ""},
		"next is a list":  {list(`{"has_more": true, "data": [{"created": 1, "id": []}]}`), recovery.KindUnreadable, "recover.next must return text"},
		"same cursor":     {list(`{"has_more": true, "data": [{"created": 1, "id": "a-cursor"}]}`), recovery.KindRepeated, "goes in circles"},
		"many items":      {list(many), recovery.KindUnreadable, "the answer has 1001 items, and 1000 are allowed"},
		"other encoding":  {status(200, "content-encoding", "br"), recovery.KindUnavailable, "encoding that wasn't asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page, err := first(t, "stripe", c.answer, secrets)
			if c.kind == "" {
				require.NoError(t, err)
				require.Nil(t, page.Next)
				return
			}
			failed := failureOf(t, err)
			require.Equal(t, c.kind, failed.Kind)
			require.Contains(t, failed.Error(), c.text)
		})
	}
}

func TestTheProviderSaysWhenToTryAgain(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"7": 7 * time.Second, "0": 0, "-1": 0, "soon": 0, "": 0, "99999999999": 24 * time.Hour,
		time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat): 0,
	} {
		fake := fakeapi.New(fakeapi.Styles()["workos"])
		fake.Fault = func(int) fakeapi.Fault { return fakeapi.Fault{Status: 429, RetryAfter: header} }
		_, err := first(t, "workos", fake, secrets)
		require.Equal(t, want, failureOf(t, err).RetryAfter, header)
	}
	fake := fakeapi.New(fakeapi.Styles()["workos"])
	later := time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)
	fake.Fault = func(int) fakeapi.Fault { return fakeapi.Fault{Status: 503, RetryAfter: later} }
	_, err := first(t, "workos", fake, secrets)
	require.InDelta(t, 90, failureOf(t, err).RetryAfter.Seconds(), 3)
}

// Without a credential nothing is sent, and the error names the variable. A wrong one is refused, in every form.
func TestEveryListNeedsItsCredential(t *testing.T) {
	t.Parallel()
	for name, style := range fakeapi.Styles() {
		fake := fakeapi.New(style)
		for _, variable := range providerOf(t, name).Recovery().SecretNames() {
			_, err := first(t, name, fake, func(one string) []string {
				if one == variable {
					return nil
				}
				return secrets(one)
			})
			failed := failureOf(t, err)
			require.Equal(t, recovery.KindUnconfigured, failed.Kind)
			require.Contains(t, failed.Error(), variable)
		}
		require.Zero(t, fake.Requests())
		_, err := first(t, name, fake, func(one string) []string {
			if strings.HasSuffix(one, "_SITE") || strings.HasSuffix(one, "_DOMAIN") {
				return secrets(one)
			}
			return []string{"another-credential"}
		})
		require.Equal(t, recovery.KindUnauthorized, failureOf(t, err).Kind, name)
	}
}

// A host per customer comes from the configuration, and is neither an address nor a URL.
func TestAHostIsAHostName(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "acme.okta.com:port", "acme.okta.com/x", "user@acme.okta.com", "Localhost", "a b.com", "https://a.com"} {
		_, err := first(t, "okta", http.NotFoundHandler(), func(name string) []string {
			if name == "OKTA_DOMAIN" {
				return []string{host}
			}
			return secrets(name)
		})
		failed := failureOf(t, err)
		require.Equal(t, recovery.KindUnconfigured, failed.Kind, host)
		require.Contains(t, failed.Error(), "OKTA_DOMAIN")
	}
}

// Of a URL in an answer only the query is used: the next request goes to the definition's host and path.
func TestNoAddressOfAnAnswerIsFollowed(t *testing.T) {
	t.Parallel()
	var asked []string
	answer := func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/token") {
			w.Header().Set("content-type", "application/json")
			_, _ = io.WriteString(w, `{"access_token": "t", "token_type": "Bearer"}`)
			return
		}
		asked = append(asked, r.Host+r.URL.Path+" "+r.URL.Query().Get("after")+r.URL.Query().Get("offset"))
		w.Header().Set("link", `<https://evil.example.com/steal?after=`+fmt.Sprint(len(asked))+`>; rel="next"`)
		if r.Host == "acme.okta.com" {
			_, _ = io.WriteString(w, `[]`)
			return
		}
		_, _ = fmt.Fprintf(w, `{"events": [], "links": [{"rel": "next", "href": "http://evil.example.com/steal?offset=%d"}]}`, len(asked))
	}
	transport := serve(t, http.HandlerFunc(answer))
	for provider, at := range map[string]string{
		"okta": "acme.okta.com/api/v1/logs", "paypal": "api-m.paypal.com/v1/notifications/webhooks-events",
	} {
		asked = nil
		c, list := client.New(transport, secrets), providerOf(t, provider).Recovery()
		w, err := list.Begin(start, start.Add(time.Hour), "")
		require.NoError(t, err)
		page, err := c.Page(t.Context(), list, w)
		require.NoError(t, err)
		_, err = c.Page(t.Context(), list, *page.Next)
		require.NoError(t, err)
		require.Equal(t, []string{at + " ", at + " 1"}, asked)
	}
}

// An answer is read up to its limit, also one that is small until it is decompressed.
func TestAnAnswerIsBounded(t *testing.T) {
	t.Parallel()
	zeros := func(w io.Writer) {
		for range recovery.MaxAnswer/(1<<20) + 1 {
			_, _ = w.Write(make([]byte, 1<<20))
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"plain": func(w http.ResponseWriter, _ *http.Request) { zeros(w) },
		"gzip": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("content-encoding", r.Header.Get("accept-encoding"))
			packed := gzip.NewWriter(w)
			zeros(packed)
			_ = packed.Close()
		},
	} {
		_, err := first(t, "stripe", answer, secrets)
		failed := failureOf(t, err)
		require.Equal(t, recovery.KindUnreadable, failed.Kind, name)
		require.Contains(t, failed.Error(), "larger than 8388608 bytes")
	}
	page, err := first(t, "stripe", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("content-encoding", "gzip")
		packed := gzip.NewWriter(w)
		_, _ = fmt.Fprintf(packed, `{"has_more": false, "data": [{"id": "evt_1", "created": %d, "amount": 1.50}]}`, start.Unix())
		_ = packed.Close()
	}), secrets)
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	require.Equal(t, fmt.Sprintf(`{"id": "evt_1", "created": %d, "amount": 1.50}`, start.Unix()), string(page.Items[0].Request.Body),
		"the text of the item is kept as it is")
}

// A circle of cursors of any length ends the walk, and so does a list that ignores the cursor.
func TestACircleEnds(t *testing.T) {
	t.Parallel()
	for _, length := range []int{1, 2, 3, 7, 50} {
		requests := 0
		answer := func(w http.ResponseWriter, _ *http.Request) {
			if requests++; requests > 1000 { // it would never end
				w.WriteHeader(http.StatusGone)
			}
			_, _ = fmt.Fprintf(w, `{"has_more": true, "data": [{"id": "e%d", "created": %d}]}`, requests%length, start.Unix())
		}
		w := walker{provider: providerOf(t, "stripe"), client: client.New(serve(t, http.HandlerFunc(answer)), secrets)}
		_, err := w.walk(t.Context(), start, start.Add(time.Hour))
		require.Equal(t, recovery.KindRepeated, failureOf(t, err).Kind)
		require.LessOrEqual(t, requests, 4*length+2)
	}
	requests := 0
	answer := func(w http.ResponseWriter, _ *http.Request) {
		if requests++; requests > 1000 {
			w.WriteHeader(http.StatusGone)
		}
		_, _ = fmt.Fprintf(w, `{"results": [{"id": "e1", "time": %q}]}`, start.Format(time.RFC3339))
	}
	w := walker{provider: providerOf(t, "offset"), client: client.New(serve(t, http.HandlerFunc(answer)), secrets)}
	_, err := w.walk(t.Context(), start, start.Add(time.Hour))
	require.Equal(t, recovery.KindRepeated, failureOf(t, err).Kind)
}

// A cursor that doesn't exist, as one from the future does, is refused, and a window can't be empty.
func TestACursorFromTheFutureIsRefused(t *testing.T) {
	t.Parallel()
	_, err := first(t, "stripe", fakeapi.New(fakeapi.Styles()["stripe"]), secrets)
	require.Equal(t, recovery.KindRefused, failureOf(t, err).Kind)
	list := providerOf(t, "stripe").Recovery()
	_, err = list.Begin(start, start, "")
	require.EqualError(t, err, "the window is empty: it must begin before it ends")
	_, err = list.Begin(start.Add(time.Second), start, "")
	require.Error(t, err)
}

// A target is a part of the path, and can't leave its place.
func TestATargetStaysInItsPlace(t *testing.T) {
	t.Parallel()
	trello, stripe := providerOf(t, "trello").Recovery(), providerOf(t, "stripe").Recovery()
	for _, target := range []string{"a/../b", "..", "a?b=c", "a#b", "/a", "a//b", "a b", "a%2fb", "ä", strings.Repeat("a", 201)} {
		_, err := trello.Begin(start, start.Add(time.Hour), target)
		require.ErrorContains(t, err, "invalid target")
	}
	_, err := trello.Begin(start, start.Add(time.Hour), "")
	require.ErrorContains(t, err, "needs a target")
	var got atomic.Value
	c := client.New(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Store(r.Header.Get("stripe-account"))
		_, _ = io.WriteString(w, `{"has_more": false, "data": []}`)
	})), secrets)
	for _, account := range []string{"acct_1", ""} {
		w, err := stripe.Begin(start, start.Add(time.Hour), account)
		require.NoError(t, err)
		_, err = c.Page(t.Context(), stripe, w)
		require.NoError(t, err)
		require.Equal(t, account, got.Load())
	}
}

// A cursor is escaped: it is data of the provider.
func TestACursorIsEscaped(t *testing.T) {
	t.Parallel()
	list := providerOf(t, "stripe").Recovery()
	w, err := list.Begin(start, start.Add(time.Hour), "")
	require.NoError(t, err)
	w.Cursor = "a&limit=1#?/../ä"
	r, err := list.Request(w, func(string) string { return "x" })
	require.NoError(t, err)
	parsed, err := url.Parse(r.URL)
	require.NoError(t, err)
	require.Equal(t, "/v1/events", parsed.Path)
	require.Equal(t, url.Values{
		"limit": {"100"}, "starting_after": {w.Cursor}, "created[gte]": {"1777895999"}, "created[lte]": {"1777899601"},
	}, parsed.Query())
}

// A walk is JSON that continues where it was.
func TestAWalkIsStored(t *testing.T) {
	t.Parallel()
	fake := fakeapi.New(fakeapi.Styles()["stripe"])
	for i := range 250 {
		fake.Add(fakeapi.Event{ID: fmt.Sprintf("e%d", i), Type: "a.b", Time: start.Add(time.Duration(i) * time.Second)})
	}
	list := providerOf(t, "stripe").Recovery()
	transport := serve(t, fake)
	w, err := list.Begin(start, start.Add(time.Hour), "")
	require.NoError(t, err)
	items := 0
	for next := &w; next != nil; {
		text, err := json.Marshal(next)
		require.NoError(t, err)
		require.Less(t, len(text), 400)
		var stored recovery.Walk
		require.NoError(t, json.Unmarshal(text, &stored))
		page, err := client.New(transport, secrets).Page(t.Context(), list, stored)
		require.NoError(t, err)
		items += len(page.Items)
		next = page.Next
	}
	require.Equal(t, 250, items)
	require.Equal(t, 3, fake.Requests())
}

// A token is used until the provider refuses it; then the next page gets a new one.
func TestATokenIsKept(t *testing.T) {
	t.Parallel()
	fake := fakeapi.New(fakeapi.Styles()["paypal"])
	tokens, refuse := 0, false
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/oauth2/token":
			tokens++
		case refuse:
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fake.ServeHTTP(w, r)
	})
	list := providerOf(t, "paypal").Recovery()
	c := client.New(serve(t, handler), secrets)
	w, err := list.Begin(start, start.Add(time.Hour), "")
	require.NoError(t, err)
	for range 3 {
		_, err = c.Page(t.Context(), list, w)
		require.NoError(t, err)
	}
	require.Equal(t, 1, tokens)
	refuse = true
	_, err = c.Page(t.Context(), list, w)
	require.Equal(t, recovery.KindUnauthorized, failureOf(t, err).Kind)
	refuse = false
	_, err = c.Page(t.Context(), list, w)
	require.NoError(t, err)
	require.Equal(t, 2, tokens)

	for code, kind := range map[int]recovery.Kind{
		200: recovery.KindUnreadable, 400: recovery.KindUnauthorized, 401: recovery.KindUnauthorized, 429: recovery.KindLimited, 503: recovery.KindUnavailable,
	} {
		_, err := first(t, "paypal", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, `{"error_description": "secret of the answer"}`)
		}), secrets)
		require.Equal(t, kind, failureOf(t, err).Kind)
	}
}

// An endpoint without TLS gets neither a request nor a credential.
func TestOnlyHTTPSIsSpoken(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(server.Close)
	transport := serve(t, http.NotFoundHandler()).(*http.Transport).Clone()
	transport.DialContext = dialer(server.Listener.Addr().String())
	list := providerOf(t, "stripe").Recovery()
	w, err := list.Begin(start, start.Add(time.Hour), "")
	require.NoError(t, err)
	_, err = client.New(transport, secrets).Page(t.Context(), list, w)
	require.Equal(t, recovery.KindUnavailable, failureOf(t, err).Kind)
	require.Zero(t, requests.Load())
}
