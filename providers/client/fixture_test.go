package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/fakeapi"
	"holdfast/providers"
	"holdfast/providers/client"
	"holdfast/providers/recovery"
)

// start is when the first event of the fakes happened.
var start = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// offsetDefinition is of the fake that no built-in provider is like.
const offsetDefinition = `
name: offset
auth: [{token: {secrets: OFFSET_SECRET, in: header, name: x-token}}]
type: .body.type
key: {certainty: certain, parts: [.body.id]}
api:
  host: api.offset.example.com
  headers: {authorization: "Bearer {OFFSET_API_KEY}"}
  rate: {requests: 1, per: 1s}
recover:
  path: /events
  query: {limit: "100", since: "{from}", offset: "{cursor}"}
  items: results
  next: if .answer.results == [] then null else (.cursor // "0" | tonumber) + (.answer.results | length) end
  time: {expr: .item.time, unit: rfc3339}
  order: oldest_first
  reach: 30d
samples:
  a: {body: '{id: .id, type: "a"}', item: '{id: .id, type: "a", time: .rfc3339}'}
`

// catalogue has the built-in definitions and offsetDefinition.
var catalogue = sync.OnceValue(func() *providers.Catalogue {
	dir, err := os.MkdirTemp("", "recovery")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.WriteFile(filepath.Join(dir, "offset.yaml"), []byte(offsetDefinition), 0o600); err != nil {
		panic(err)
	}
	c, err := providers.Load(dir)
	if err != nil {
		panic(err)
	}
	return c
})

func providerOf(t testing.TB, name string) *providers.Provider {
	t.Helper()
	p, ok := catalogue().Lookup(name)
	require.True(t, ok)
	require.NotNil(t, p.Recovery())
	return p
}

// secrets are those that the fakes accept.
func secrets(name string) []string {
	switch name {
	case "CHARGEBEE_SITE":
		return []string{"acme"}
	case "OKTA_DOMAIN":
		return []string{"acme.okta.com"}
	case "GITLAB_HOST":
		return []string{"gitlab.example.com"}
	}
	return []string{fakeapi.Credential}
}

// target is the board of the fake Trello, or the webhook of a log.
func target(provider string) string {
	if provider == "trello" {
		return "b1"
	}
	return fakeapi.Targets()[provider]
}

// serve returns a transport on which every host is this handler.
func serve(t testing.TB, handler http.Handler) http.RoundTripper {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.ServerName = "example.com" // as in the server's certificate
	transport.DialContext = dialer(server.Listener.Addr().String())
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// dialer connects to the address, whatever the host is.
func dialer(address string) func(ctx context.Context, network, host string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
}

// found is an event that a walk has returned.
type found struct {
	key  string
	time time.Time
}

// walker reads a list to its end, and reads a page again that may succeed later.
type walker struct {
	provider *providers.Provider
	client   *client.Client
	retries  int
	// between is called after each page.
	between func(page int)
}

func (w walker) walk(ctx context.Context, from, to time.Time) (all []found, err error) {
	list := w.provider.Recovery()
	at, err := list.Begin(from, to, target(w.provider.Name()))
	if err != nil {
		return nil, err
	}
	for next := &at; next != nil; {
		page, err := w.page(ctx, *next)
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			if list.IsByDelivery() {
				all = append(all, found{item.Delivery, item.Time})
				continue
			}
			events, err := w.provider.SplitStored(item.Request)
			if err != nil || len(events) != 1 {
				return nil, fmt.Errorf("an item makes %d events (%w)", len(events), err)
			}
			all = append(all, found{events[0].Key, item.Time})
		}
		if next = page.Next; next != nil && w.between != nil {
			w.between(next.Pages)
		}
	}
	return all, nil
}

func (w walker) page(ctx context.Context, at recovery.Walk) (page recovery.Page, err error) {
	for range w.retries + 1 {
		page, err = w.client.Page(ctx, w.provider.Recovery(), at)
		var failed *recovery.Error
		if err == nil || !errors.As(err, &failed) || !failed.IsTemporary() {
			break
		}
	}
	return page, err
}

// keysOf returns the sorted keys that the events have.
func keysOf(all []found) map[string]int {
	keys := map[string]int{}
	for _, one := range all {
		keys[one.key]++
	}
	return keys
}

// typeOf is a type that the fakes' definitions can read.
func typeOf(provider string) string {
	if provider == "gocardless" {
		return "payments.confirmed"
	}
	return strings.ReplaceAll("a.created", ".", map[bool]string{true: "_", false: "."}[provider == "chargebee"])
}
