package client_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/fakeapi"
	"holdfast/providers/client"
	"holdfast/providers/recovery"
)

// A state is fetched with a GET at the definition's address, and every failure says what to do without a credential.
func TestAStateIsFetched(t *testing.T) {
	t.Parallel()
	fetch := providerOf(t, "gocardless").Fetches()[0]
	for name, c := range map[string]struct {
		status int
		header http.Header
		body   string
		want   string
		kind   recovery.Kind
		retry  time.Duration
	}{
		"state":      {body: `{"payments": {"id": "PM1", "amount": 1.50}}`, want: `{"id": "PM1", "amount": 1.50}`},
		"gone":       {status: 404},
		"gone long":  {status: 410},
		"limited":    {status: 429, header: http.Header{"Retry-After": {"7"}}, kind: recovery.KindLimited, retry: 7 * time.Second},
		"refused":    {status: 403, kind: recovery.KindUnauthorized},
		"invalid":    {status: 400, kind: recovery.KindRefused},
		"redirect":   {status: 302, header: http.Header{"Location": {"https://other.example.com/"}}, kind: recovery.KindRefused},
		"failed":     {status: 500, kind: recovery.KindUnavailable},
		"no JSON":    {body: `{"payments": {`, kind: recovery.KindUnreadable},
		"no payment": {body: `{"payments": null}`, kind: recovery.KindUnreadable},
		"too large":  {body: `{"payments": "` + strings.Repeat("x", recovery.MaxAnswer) + `"}`, kind: recovery.KindUnreadable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := 0
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests++
				if r.Host != "api.gocardless.com" || r.Method != "GET" || r.URL.String() != "/payments/PM1" ||
					r.Header.Get("authorization") != "Bearer "+fakeapi.Credential || r.Header.Get("gocardless-version") == "" {
					w.WriteHeader(http.StatusTeapot)
					return
				}
				for key, values := range c.header {
					w.Header()[key] = values
				}
				w.WriteHeader(max(c.status, 200))
				_, _ = w.Write([]byte(c.body))
			})
			state, err := client.New(serve(t, handler), secrets).Fetch(t.Context(), fetch, map[string]string{"id": "PM1"})
			require.Equal(t, 1, requests)
			if c.kind == "" {
				require.NoError(t, err)
				require.Equal(t, c.want, string(state))
				return
			}
			var failed *recovery.Error
			require.ErrorAs(t, err, &failed)
			require.Equal(t, c.kind, failed.Kind)
			require.Equal(t, c.retry, failed.RetryAfter)
			require.NotContains(t, failed.Error(), fakeapi.Credential)
			require.NotContains(t, failed.Error(), "PM1")
		})
	}
	without := client.New(nil, func(string) []string { return nil })
	require.False(t, without.CanFetch(fetch))
	require.True(t, client.New(nil, secrets).CanFetch(fetch))
}

// A token can come from another host than the state, and can be limited to scopes.
func TestATokenFromAnotherHost(t *testing.T) {
	t.Parallel()
	xero, ok := catalogue().Lookup("xero")
	require.True(t, ok)
	var asked []string
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.Host+r.URL.Path)
		switch {
		case r.Host == "identity.xero.com":
			asked = append(asked, r.FormValue("grant_type")+": "+r.FormValue("scope"))
			w.Header().Set("content-type", "application/json")
			_, _ = w.Write([]byte(`{"access_token": "t1", "token_type": "Bearer", "expires_in": 1800}`))
		case r.Header.Get("authorization") == "Bearer t1":
			_, _ = w.Write([]byte(`{"Contacts": [{"Name": "Ada"}]}`))
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	state, err := client.New(serve(t, handler), secrets).Fetch(t.Context(), xero.Fetches()[0], map[string]string{"id": "c1"})
	require.NoError(t, err)
	require.Equal(t, `[{"Name": "Ada"}]`, string(state))
	require.Equal(t, []string{
		"POST identity.xero.com/connect/token", "client_credentials: accounting.contacts.read accounting.invoices.read",
		"GET api.xero.com/api.xro/2.0/Contacts/c1",
	}, asked)
}
