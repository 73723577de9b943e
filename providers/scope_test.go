package providers

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/reading"
)

// evolutionEvent returns an Evolution event that arrives at a path; the instance in the body may be missing.
func evolutionEvent(t testing.TB, path, body string) (reading.Item, event.Parsed) {
	t.Helper()
	c := catalogueOf(t, secretOfTests)
	p, params, ok := c.ByPath(path)
	require.True(t, ok)
	r := &auth.Request{Method: "POST", Path: path, PathParams: params, Body: []byte(body), Header: map[string][]string{}}
	require.NoError(t, p.SignWithSecrets(r, clock))
	require.NoError(t, p.Authenticate(r, clock))
	item := splitOne(t, p, r)
	parsed, err := p.Parse(receiptOfTest(p, item), item.Body)
	require.NoError(t, err)
	return item, parsed
}

func namesOfChanges(p event.Parsed) (names []string) {
	for _, c := range p.Changes {
		names = append(names, c.Kind+"/"+c.ExternalID)
	}
	return names
}

// A message event of one shop changes nothing at another shop, whose messages may have the same IDs. The instance is in the
// body or in the path.
func TestEvolutionIsScopedByTheInstance(t *testing.T) {
	t.Parallel()
	const upsert = `{"event":"messages.upsert",%"data":{"key":{"remoteJid":"55@s.whatsapp.net","id":"3EB0"},"status":"READ"}}`
	const contacts = `{"event":"contacts.upsert",%"data":[{"remoteJid":"55@s.whatsapp.net","pushName":"Ada"}]}`
	keys := map[string]bool{}
	for _, body := range []string{upsert, contacts} {
		for _, shop := range []string{"shop-a", "shop-b"} {
			inBody, named := evolutionEvent(t, "/webhooks/evolution", strings.Replace(body, "%", `"instance":"`+shop+`",`, 1))
			inPath, called := evolutionEvent(t, "/webhooks/evolution/"+shop, strings.Replace(body, "%", "", 1))
			for _, item := range []reading.Item{inBody, inPath} {
				require.Equal(t, shop, item.Source)
			}
			require.Equal(t, named.Changes, called.Changes)
			require.Contains(t, namesOfChanges(named), "instance/"+shop)
			for _, name := range namesOfChanges(named) {
				_, id, _ := strings.Cut(name, "/")
				require.True(t, id == shop || strings.HasPrefix(id, shop+":"), name)
			}
			require.False(t, keys[inPath.Key], "two shops share a key")
			keys[inPath.Key] = true
			if body == upsert {
				require.True(t, strings.HasPrefix(inPath.Key, shop+":messages.upsert:3EB0:"), inPath.Key)
				require.True(t, strings.HasPrefix(inBody.Key, shop+":messages.upsert:3EB0:"), inBody.Key)
			}
		}
	}
}

const scoped = minimal + `
source: .body.account
entities:
  - {kind: order, id: .body.order, scope: source}
  - {kind: account, id: .body.account, scope: provider}
`

// A source and an ID identify one entity, whatever they contain; an event without a source is about the provider's own
// entities.
func TestScopeOfEntities(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, scoped)
	for body, want := range map[string][]string{
		`{"id":1,"account":"a","order":"o"}`:     {"order/a:o", "account/a"},
		`{"id":1,"account":"a:b","order":"o"}`:   {"order/a%3Ab:o", "account/a:b"},
		`{"id":1,"account":"a","order":"b:o"}`:   {"order/a:b:o", "account/a"},
		`{"id":1,"account":"a%3Ab","order":"o"}`: {"order/a%253Ab:o", "account/a%3Ab"},
		`{"id":1,"order":"o"}`:                   {"order/o"},
	} {
		_, parsed, err := parse(t, p, body)
		require.NoError(t, err)
		require.Equal(t, want, namesOfChanges(parsed), body)
	}
	_, _, err := parse(t, p, `{"id":1,"order":"o","account":"`+strings.Repeat("a", 600)+`"}`)
	require.Equal(t, "bad_entity_id", event.CodeOf(err))
}

// Equal bodies from two sources are two events if the source isn't in the body, whether the body is the whole key, a part of
// it, or the fallback.
func TestHashOfTheBodyKnowsTheSource(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{"{fallback: body_sha256}", "{parts: [body_sha256]}", "{parts: ['\"x\"', body_sha256]}"} {
		p := mustLoad(t, strings.NewReplacer("{parts: [.body.id]}", rule, "auth:\n", `
paths: ["/in/{tenant}"]
source: .path.tenant
auth:
  - token: {secrets: ACME_SECRET, in: header, name: x-acme}
`).Replace(minimal))
		key := func(tenant string) string {
			r := &auth.Request{Method: "POST", Body: []byte(`{}`), Header: map[string][]string{}, PathParams: map[string]string{"tenant": tenant}}
			r.Header["x-acme"] = []string{secretOfTests}
			require.NoError(t, p.Authenticate(r, clock))
			item := splitOne(t, p, r)
			require.Equal(t, event.KeyFromBody, item.KeyFrom, rule)
			return item.Key
		}
		again := key("a")
		require.Equal(t, key("a"), again, rule)
		require.NotEqual(t, key("a"), key("b"), rule)
	}
}

// hashed returns a key that is the hash of the body.
func hashed(body string) string {
	sum := sha256.Sum256([]byte(body))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// The hash of the body replaces no required part, and all optional ones.
func TestHashOfTheBodyIsAPart(t *testing.T) {
	t.Parallel()
	const body = `{"type":"x"}`
	bodySum := strings.TrimPrefix(hashed(body), "sha256:")
	for rule, want := range map[string]string{
		"{parts: [.body.id, body_sha256]}":                         "missing:" + bodySum,
		"{parts: [{expr: .body.id, optional: true}, body_sha256]}": hashed(body),
		"{parts: [.body.type, body_sha256]}":                       "x:" + bodySum,
		"{parts: [body_sha256]}":                                   hashed(body),
	} {
		p := mustLoad(t, strings.Replace(minimal, "{parts: [.body.id]}", rule, 1)+"\ndedupe: 2d\n")
		item, _, _ := parse(t, p, body)
		require.Equal(t, want, item.Key, rule)
		require.Equal(t, strings.HasPrefix(want, "missing:"), item.DedupeWindow == event.Duration(15*time.Minute), rule)
	}
}
