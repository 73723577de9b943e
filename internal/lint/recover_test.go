package lint

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// listed is a definition with a list of events; tests change one thing about it.
const listed = minimal + `
dedupe: 31d
api:
  host: api.acme.example.com
  headers: {authorization: "Bearer {ACME_API_KEY}"}
  rate: {requests: 1, per: 1s}
recover:
  path: /v1/events
  query: {since: "{from}", after: "{cursor}"}
  items: data
  next: .answer.next
  time: {expr: .item.at, unit: rfc3339}
  order: oldest_first
  reach: 30d
samples:
  order.paid:
    body: '{id: .id, type: "order.paid"}'
    item: '{id: .id, type: "order.paid", at: .rfc3339}'
`

// recoverFindings checks a definition and returns what isn't advice.
func recoverFindings(t *testing.T, text string) (found []string) {
	t.Helper()
	dir := writeDefinitions(t, map[string]string{"acme.yaml": text})
	checked, err := CheckPath(filepath.Join(dir, "acme.yaml"), secretsOf(secretOfTests))
	require.NoError(t, err)
	for _, f := range checked.Problems() {
		found = append(found, f.String())
	}
	return found
}

// requireFound requires a finding after a part of a definition is replaced.
func requireFound(t *testing.T, definition, from, to, want string) {
	t.Helper()
	require.Contains(t, definition, from)
	require.Contains(t, strings.Join(recoverFindings(t, strings.Replace(definition, from, to, 1)), "\n"), want)
}

// An event that recovery would process twice is a problem of the definition, which says what to change.
func TestARecoveredEventHasTheWebhooksKey(t *testing.T) {
	t.Parallel()
	require.Empty(t, recoverFindings(t, listed))
	for _, c := range []struct{ from, to, want string }{
		{"dedupe: 31d", "dedupe: 30d", "acme.yaml:11:1: dedupe: is shorter than recover.reach and overlap together: an event whose key is " +
			"forgotten would be processed again. Use at least 31d, or a shorter reach [recover]"},
		{"reach: 30d", "reach: 30d\n  overlap: 2d", "Use at least 32d"},
		{"dedupe: 31d", "dedupe: forever\noverrides: [{types: [order.*], dedupe: 1d}]", "overrides[0].dedupe: is shorter"},
		{"item: '{id: .id,", "item: '{id: (.id + \"x\"),", `item: has the key lintx, and the webhook lint: an event that has arrived would be ` +
			"processed again. Make `body` of `recover` look like the webhook's [recover]"},
		{"type: \"order.paid\", at", "type: \"order.made\", at", "has the type order.made, and the webhook order.paid"},
		{", at: .rfc3339", "", "an item has no time: recover.time.expr must return one in rfc3339"},
		{"    item: '{id: .id, type: \"order.paid\", at: .rfc3339}'\n", "", "recover: no sample has an `item`"},
		{"key: {parts: [.body.id]}", "key: {parts: [.body.id, body_sha256]}", "key: has the hash of the body"},
		{"key: {parts: [.body.id]}", "key: {parts: [.body.id], certainty: guessed, in_doubt: accept, retry_span: 1d}", "key: has the hash of the body"},
	} {
		requireFound(t, listed, c.from, c.to, c.want)
	}
}

// A definition that describes no usable request is invalid, at the line of the field.
func TestAListIsDescribedCompletely(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to, want string }{
		{"host: api.acme.example.com", "host: https://api.acme.example.com", `acme.yaml:13:3: api.host: "https://api.acme.example.com" isn't a host name`},
		{"host: api.acme.example.com", "host: 10.0.0.1", "api.host: \"10.0.0.1\" isn't a host name"},
		{"host: api.acme.example.com", `host: "{cursor}.example.com"`, "api.host: {cursor} is unknown: use one of {NAME_OF_A_SECRET}"},
		{`headers: {authorization: "Bearer {ACME_API_KEY}"}`, "headers: {x: y}", "acme.yaml:12:1: api: has no credential"},
		{
			`headers: {authorization: "Bearer {ACME_API_KEY}"}`, "oauth: {host: 10.0.0.1, path: /token, client: ACME_ID, secret: ACME_SECRET}",
			"api.oauth.host: \"10.0.0.1\" isn't a host name",
		},
		{"  rate: {requests: 1, per: 1s}\n", "", "api.rate: is missing"},
		{"path: /v1/events", "path: /v1/events?a=b", "acme.yaml:17:3: recover.path: \"/v1/events?a=b\" isn't a path"},
		{"path: /v1/events", "path: /../events", "isn't a path"},
		{`since: "{from}"`, `since: "{ACME_API_KEY}"`, "recover.query.since: {ACME_API_KEY} would put a secret into the URL"},
		{`after: "{cursor}"`, `after: "1"`, "recover.query: has no {cursor}"},
		{"next: .answer.next", "next: {link: true, cursor: .x}", "recover.next: want exactly one of cursor, url and link"},
		{"next: .answer.next", "next: {link: true, parametr: after}", "recover.next.parametr: is not a field; did you mean parameter?"},
		{"next: .answer.next", "next: now", "recover.next: now cannot be used"},
		{"items: data", "items: data..x", "recover.items: \"data..x\" isn't a dotted path"},
		{"unit: rfc3339", "unit: unix", `recover.time.unit: "unix" is unknown`},
		{"order: oldest_first\n", "\n", "recover.order: is missing"},
		{"reach: 30d", "reach: forever", "recover.reach: want how far back the list goes"},
		{"reach: 30d", "reach: 1h", "recover.reach: must be longer than overlap and settle together"},
		{"reach: 30d", "reach: 30d\n  body: '{item} {item}'", "recover.body: has {item} or {item.PATH} 2 times"},
		{"reach: 30d", "reach: 30d\n  body: '{\"a\": {item}'", "recover.body: isn't JSON"},
		{"reach: 30d", "reach: 30d\n  post: '{cursor}'", "recover.reads: must be true"},
	} {
		requireFound(t, listed, c.from, c.to, c.want)
	}
	require.Contains(t, strings.Join(recoverFindings(t, minimal+"\nrecover: {path: /x}\n"), "\n"), "api: is missing: recover needs")
	require.Contains(t, strings.Join(recoverFindings(t, minimal+"\nsamples: {a: {body: '{id: .id, type: \"a\"}', item: '1'}}\n"), "\n"),
		"item: is for a definition with `recover` [ineffective]")
}

// A guessed key has the hash of the body, so only the provider can send the event again, and the delivery ID connects both.
func TestAGuessedKeyNeedsARedelivery(t *testing.T) {
	t.Parallel()
	guessing := strings.NewReplacer("key: {parts: [.body.id]}", "key: {certainty: guessed, delivery: .body.id, unsigned: the test says so, in_doubt: accept}",
		"dedupe: 31d\n", "").Replace(listed)
	require.Contains(t, strings.Join(recoverFindings(t, guessing), "\n"), "let the provider send it again (`recover.delivery`)")
	byDelivery := strings.Replace(strings.Replace(guessing, "order: oldest_first", "order: newest_first", 1), "reach: 30d",
		"reach: 30d\n  delivery: .item.id\n  delivered: .item.ok\n  redeliver: /v1/events/{item.id}/attempts", 1)
	require.Empty(t, recoverFindings(t, byDelivery))
	for _, c := range []struct{ from, to, want string }{
		{"delivery: .item.id", "delivery: .item.at", "with which the webhook's key must begin: correct recover.delivery"},
		{"certainty: guessed, delivery: .body.id,", "certainty: guessed,", "doesn't begin with the delivery ID"},
		{"  delivered: .item.ok\n", "", "recover.delivered: is missing"},
		{"  redeliver: /v1/events/{item.id}/attempts\n", "", "recover.delivery: needs redeliver"},
		{"order: newest_first", "order: oldest_first", "recover.order: must be newest_first with delivery"},
		{"{item.id}/attempts", "{item.other}/attempts", "lacks the part that the path"},
		{"{item.id}/attempts", "1/attempts", "the path of detail or redeliver has no {item.PATH}"},
		{"{item.id}/attempts", "{item}/attempts", "{item} is unknown: use one of {target}, {item.PATH}"},
		{"{item.id}/attempts", "{ACME_API_KEY}/{item.id}", "would put a secret into the URL"},
		{"  delivered: .item.ok\n", "  delivered: .item.ok\n  detail: {path: '/v1/{item.id}', body: .}\n", "conflicts with detail"},
	} {
		requireFound(t, byDelivery, c.from, c.to, c.want)
	}
}

// A definition with detail has the key of the webhook in the item, perhaps in a header.
func TestADetailKeepsTheKey(t *testing.T) {
	t.Parallel()
	inHeader := strings.NewReplacer("key: {parts: [.body.id]}", `keep: {headers: [x-id]}
key: {parts: ['.headers["x-id"]'], unsigned: the test says so}`,
		"reach: 30d", "reach: 30d\n  headers: {x-id: '{item.id}'}\n  detail: {path: '/v1/events/{item.id}', body: body}",
		"    body: '{id: .id, type", "    headers: {x-id: '{id}'}\n    body: '{id: .id, type").Replace(listed)
	require.Empty(t, recoverFindings(t, inHeader))
	requireFound(t, inHeader, "{x-id: '{item.id}'}", "{x-id: '{item.at}'}", "[recover]")
}
