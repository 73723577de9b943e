package providers

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth"
	"holdfast/providers/auth/denial"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/reading"
)

// itemOf returns the only event of an admitted request.
func itemOf(t testing.TB, p *Provider, r *auth.Request) reading.Item {
	t.Helper()
	return splitOne(t, p, admit(t, p, r))
}

// keysOf returns the keys of a request's events.
func keysOf(t testing.TB, p *Provider, r *auth.Request) (keys []string) {
	t.Helper()
	items, err := p.Split(r)
	require.NoError(t, err)
	for _, item := range items {
		keys = append(keys, item.Key)
	}
	return keys
}

// contentsOf returns the hashes by which the events of a request are compared with others.
func contentsOf(t testing.TB, p *Provider, r *auth.Request) (contents []string) {
	t.Helper()
	items, err := p.Split(r)
	require.NoError(t, err)
	for _, item := range items {
		contents = append(contents, item.Content)
	}
	return contents
}

// An unsigned header creates no second event, whether it is changed or removed. The exception is a header that the definition
// reads for a guessed key with a stated reason, such as a delivery ID: it creates a second event with the same content, which
// is marked or held and never passes for a new one.
func TestUnsignedPartsMakeNoUnmarkedEvent(t *testing.T) {
	t.Parallel()
	c := catalogueOf(t, secretOfTests)
	for _, name := range c.Names() {
		p, _ := c.Lookup(name)
		for _, kind := range p.SampleTypes() {
			for _, scheme := range p.Alternatives() {
				covered := scheme.Coverage()
				if covered.All {
					continue
				}
				scheme = scheme.WithSecrets(secretsOf(secretOfTests))
				sample := func() *auth.Request {
					r, err := p.Sample(kind, "one", clock)
					require.NoError(t, err)
					if err = scheme.SignWithSecrets(r, clock); denial.ReasonOf(err) == denial.OtherAccount {
						return nil // the account has another place in the events that this scheme is for
					}
					require.NoError(t, err)
					return r
				}
				first := sample()
				if first == nil {
					continue
				}
				require.NoError(t, scheme.Authenticate(first, clock))
				if _, handshake := p.Challenge(first, clock); handshake {
					continue
				}
				if _, handshake, err := p.Handshake(first, clock); handshake && err == nil {
					continue
				}
				keys, contents := keysOf(t, p, first), contentsOf(t, p, first)
				for _, header := range append([]string{"content-type", "user-agent", "x-request-id"}, p.Written().Keep.Headers...) {
					if header = strings.ToLower(header); slices.Contains(covered.Headers, header) {
						continue
					}
					for _, value := range []string{"", "another", "application/json", decode.FormType} {
						r := sample()
						if r.Header = maps.Clone(r.Header); value == "" {
							delete(r.Header, header)
						} else {
							r.Header[header] = []string{value}
						}
						if scheme.Authenticate(r, clock) != nil {
							require.Equal(t, "content-type", header, "of %s, whose form is what is signed", name)
							continue
						}
						if readUnsigned(p, header) && !slices.Contains(contents, "") {
							require.Equal(t, contents, contentsOf(t, p, r), "%s %s: %s: %s", name, kind, header, value)
							continue
						}
						require.Equal(t, keys, keysOf(t, p, r), "%s %s: %s: %s", name, kind, header, value)
					}
				}
			}
		}
	}
}

// readUnsigned reports whether the key uses an unsigned header for a stated reason.
func readUnsigned(p *Provider, header string) bool {
	key := p.Written().Key
	parts := append([]definition.Part{{Expr: key.Delivery}}, key.Parts...)
	return key.Unsigned != "" && slices.ContainsFunc(parts, func(part definition.Part) bool {
		return strings.Contains(string(part.Expr), `"`+header+`"`)
	})
}

// One signed body of GitHub is repeated with different unsigned headers:
//   - it is the same event, whatever its event name
//   - under another delivery ID it is another event with the same content, which is marked
//   - an event name that the body doesn't fit is no type
func TestGitHubSignsTheBodyAlone(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "github", secretOfTests)
	send := func(kind, delivery, body string) reading.Item {
		return itemOf(t, p, &auth.Request{Body: []byte(body), Header: map[string][]string{
			"x-github-event": {kind}, "x-github-delivery": {delivery},
		}})
	}
	const label = `{"action":"deleted","label":{"id":1},"repository":{"id":2},"sender":{"id":3}}`
	first := send("label", "a", label)
	require.Equal(t, "label.deleted", first.Type)
	again, other, renamed := send("label", "a", label), send("label", "b", label), send("repository", "a", label)
	require.Equal(t, first, again)
	require.NotEqual(t, first.Key, other.Key)
	require.Equal(t, first.Content, other.Content)
	require.Equal(t, first.Key, renamed.Key)
	require.Equal(t, reading.UnknownType, renamed.Type)
	for body, kinds := range map[string]map[string]string{
		`{"action":"deleted","repository":{"id":2},"organization":{},"sender":{"id":3}}`: {
			"repository": "repository.deleted", "issues": "", "release": "", "installation": "installation.deleted",
			"watch": "watch.deleted",
		},
		`{"action":"deleted","novel":{},"repository":{"id":2}}`: {"repository": "", "installation": "", "novel": "novel.deleted"},
		`{"action":"deleted","issue":{"id":1},"comment":{"id":2}}`: {
			"issues": "", "issue_comment": "issue_comment.deleted", "pull_request": "", "push": "",
		},
		`{"ref":"refs/heads/main","after":"a","commits":[],"head_commit":null,"repository":{}}`: {
			"push": "push", "create": "", "repository": "",
		},
		`{"action":"opened","issue":{"id":1},"label":{},"repository":{}}`: {"issues": "issues.opened", "label": "", "release": ""},
	} {
		for kind, want := range kinds {
			require.Equal(t, cmp.Or(want, reading.UnknownType), send(kind, "a", body).Type, "%s as %s", body, kind)
		}
	}
}

// A recorded GitHub event has the type in its header.
func TestRecordedEventsOfGitHubKeepTheirType(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "github", secretOfTests)
	files, err := filepath.Glob(filepath.Join(sharedFixtures(t), "github", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		kind, _, _ := strings.Cut(filepath.Base(file), ".")
		kind = strings.TrimSuffix(kind, ".json")
		var read struct{ Action string }
		require.NoError(t, json.Unmarshal(body, &read))
		item := itemOf(t, p, &auth.Request{Body: body, Header: map[string][]string{"x-github-event": {kind}}})
		require.Equal(t, strings.TrimSuffix(kind+"."+read.Action, "."), item.Type, file)
	}
}

// One signed Shopify body under another topic, or another event's ID.
func TestShopifySignsTheBodyAlone(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "shopify", secretOfTests)
	send := func(topic, id, body string) reading.Item {
		return itemOf(t, p, &auth.Request{Body: []byte(body), Header: map[string][]string{
			"x-shopify-topic": {topic}, "x-shopify-event-id": {id},
		}})
	}
	const customer = `{"id":7,"admin_graphql_api_id":"gid://shopify/Customer/7","updated_at":"2026-01-01T00:00:00Z"}`
	first, other := send("customers/update", "a", customer), send("customers/update", "b", customer)
	require.NotEqual(t, first.Key, other.Key, "the event ID is part of the key")
	require.Equal(t, first.Content, other.Content, "the second one is marked")
	require.NotEqual(t, first.Key, send("customers/create", "a", customer).Key, "one body comes under several topics")
	require.Equal(t, "customers/update", first.Type)
	require.Equal(t, reading.UnknownType, send("orders/updated", "a", customer).Type)
	require.Equal(t, reading.UnknownType, send("customers/delete", "a", customer).Type)
	require.Equal(t, "customers/delete", send("customers/delete", "a", `{"id":7,"phone":null}`).Type)
	require.Equal(t, "themes/publish", send("themes/publish", "a", `{"id":7,"updated_at":"x"}`).Type)
	parsed, err := p.Parse(receiptOfTest(p, send("orders/delete", "a", customer)), []byte(customer))
	require.NoError(t, err)
	require.Empty(t, parsed.Changes)
}
