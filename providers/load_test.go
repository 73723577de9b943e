package providers

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/definition"
)

// minimal is the smallest definition; tests change one thing about it.
const minimal = `
name: acme
auth:
  - hmac:
      secrets: ACME_SECRET
      signed: "{body}"
      signature: {header: x-acme-signature}
type: .body.type
key: {parts: [.body.id]}
`

// writeDefinitions writes a user's folder.
func writeDefinitions(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func loadOne(t testing.TB, definition string) (*Provider, error) {
	t.Helper()
	c, err := Load(writeDefinitions(t, map[string]string{"acme.yaml": definition}))
	if err != nil {
		return nil, err
	}
	p, ok := c.WithSecrets(secretsOf(secretOfTests)).Lookup("acme")
	require.True(t, ok)
	return p, nil
}

func mustLoad(t testing.TB, definition string) *Provider {
	t.Helper()
	p, err := loadOne(t, definition)
	require.NoError(t, err)
	return p
}

// An invalid definition is refused with the file, the field and the reason.
func TestWrongDefinitionsAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, new, field, reason string }{
		"unknown field":         {"type:", "tpye: .x\ntype:", "tpye", "is not a field"},
		"unknown nested field":  {"secrets:", "secret: X\n      secrets:", "auth[0].hmac.secret", "is not a field"},
		"no name":               {"name: acme", "", "name", "invalid name"},
		"name of another file":  {"name: acme", "name: other", "name", "name of the file"},
		"no auth":               {"auth:", "auth: []\nignored:", "auth", "no request could be authenticated"},
		"two schemes in one":    {"  - hmac:", "  - basic: {secrets: A, user: u}\n    hmac:", "auth[0]", "exactly one of"},
		"the secret itself":     {"ACME_SECRET", "whsec_123", "auth[0].hmac.secrets", "never the secret itself"},
		"body not signed":       {`"{body}"`, `"{timestamp}"`, "auth[0].hmac.partial", "must be given"},
		"unknown variable":      {`"{body}"`, `"{body}{boddy}"`, "auth[0].hmac.signed", "between braces"},
		"time not declared":     {`"{body}"`, `"{timestamp}{body}"`, "auth[0].hmac.timestamp", "must be declared"},
		"unknown grammar":       {"{header: x-acme-signature}", "{header: x, grammar: odd}", "auth[0].hmac.signature.grammar", "want one of"},
		"no type":               {"type: .body.type", "", "type", "is missing"},
		"an odd replay":         {"type:", "replay: sometimes\ntype:", "replay.automatic", "want one of on, off"},
		"a replay at once":      {"type:", "replay: {base: 0s}\ntype:", "replay.base", "more than 0"},
		"too many replays":      {"type:", "replay: {attempts: 99}\ntype:", "replay.attempts", "1 to 20"},
		"a class of its own":    {"type:", "replay: {classes: [odd]}\ntype:", "replay.classes", "want one of transient, failed, rejected"},
		"not jq":                {".body.type", `".body.["`, "type", "is not jq"},
		"unknown function":      {".body.type", ".body | frobnicate", "type", "does not compile"},
		"environment":           {".body.type", "env.HOME", "type", "env cannot be used"},
		"environment variable":  {".body.type", "$ENV.HOME", "type", "$ENV cannot be used"},
		"other input":           {".body.type", "input", "type", "input cannot be used"},
		"clock":                 {".body.type", "now", "type", "now cannot be used"},
		"hidden in a string":    {".body.type", `'"\(.body | debug)"'`, "type", "debug cannot be used"},
		"module":                {".body.type", `'import "a" as a; a::b'`, "type", "modules cannot be used"},
		"header not kept":       {".body.type", `.headers["x-topic"]`, "type", `"x-topic", which is not among keep.headers`},
		"query not kept":        {".body.type", `.query.topic`, "type", "not among keep.query"},
		"no such path variable": {".body.type", `.path.instance`, "type", "no path has"},
		"kept signature":        {"type:", "keep: {headers: [X-Acme-Signature]}\ntype:", "keep.headers[0]", "never kept"},
		"kept cookie":           {"type:", "keep: {headers: [cookie]}\ntype:", "keep.headers[0]", "never kept"},
		"unsigned key": {"key: {parts: [.body.id]}", "keep: {headers: [x-id]}\nkey: {parts: ['.headers[\"x-id\"]']}",
			"key.parts[0]", `"x-id", which no signature covers`},
		"no key":          {"key: {parts: [.body.id]}", "", "key", "is missing"},
		"empty key":       {"{parts: [.body.id]}", "{}", "key", "want parts"},
		"all optional":    {"[.body.id]", "[{expr: .body.id, optional: true}]", "key.parts", "all optional"},
		"bad duration":    {"type:", "dedupe: 30\ntype:", "dedupe", "want a duration"},
		"odd duration":    {"type:", "dedupe: 30x\ntype:", "dedupe", "is not a duration"},
		"bad lane":        {"type:", "lane: fast\ntype:", "lane", "want one of workflow, bulk"},
		"bad priority":    {"type:", "priority: urgent\ntype:", "priority", "want one of normal, critical, high"},
		"no attempts":     {"type:", "retry: {attempts: 0}\ntype:", "retry.attempts", "want 1 to"},
		"two policies":    {"type:", "retry: {attempts: 2, delays: [1s], initial: 1s}\ntype:", "retry.delays", "leave out"},
		"jitter":          {"type:", "retry: {attempts: 2, jitter: 7}\ntype:", "retry.jitter", "from 0 to 1"},
		"unit":            {"type:", "occurred_at: [{expr: .body.t, units: [days]}]\ntype:", "occurred_at[0].units[0]", "want one of"},
		"no state":        {"type:", "entities: [{kind: x, id: .body.id, op: snapshot}]\ntype:", "entities[0].state", "is missing"},
		"scope":           {"type:", "entities: [{kind: x, id: .body.id, scope: shop}]\ntype:", "entities[0].scope", "want one of provider, source"},
		"scope of nobody": {"type:", "entities: [{kind: x, id: .body.id, scope: source}]\ntype:", "entities[0].scope", "has no source"},
		"no id":           {"type:", "entities: [{kind: x}]\ntype:", "entities[0].id", "is missing"},
		"empty name":      {"type:", "entities: [{kind: x, id: [.body.id, '']}]\ntype:", "entities[0].id[1]", "is missing"},
		"names of any":    {"type:", "entities: [{kind_from: .body.k, id: [.body.a, .body.b]}]\ntype:", "entities[0].id", "want kind"},
		"names that differ": {"type:", "entities: [{kind: x, id: [.body.a, .body.b]}, {kind: x, id: .body.a}]\ntype:", "entities",
			"has 2 names and another one 1"},
		"time-outs":       {"type:", "on_timeout: die\ntype:", "on_timeout", "want one of retry, fail"},
		"reply":           {"type:", "replies: {body: '.['}\ntype:", "replies.body", "is not jq"},
		"related":         {"type:", "entities: [{kind: x, id: .body.id, related: {a: 'b c'}}]\ntype:", "entities[0].related.a", "name of a kind"},
		"kind twice":      {"type:", "entities: [{kind: x, kind_from: .body.k, id: .body.id}]\ntype:", "entities[0].kind", "want either"},
		"promise of 2xx":  {"type:", "replies: {unavailable: 200}\ntype:", "replies.unavailable", "take for stored"},
		"loss by limit":   {"type:", "replies: {rate_limited: 202}\ntype:", "replies.rate_limited", "take for stored"},
		"redirection":     {"type:", "replies: {unauthentic: 302}\ntype:", "replies.unauthentic", "take for stored"},
		"refusal of none": {"type:", "replies: {accepted: 500}\ntype:", "replies.accepted", "send again"},
		"path with query": {"type:", "paths: ['/x?y']\ntype:", "paths[0]", "want a path"},
		"path taken":      {"type:", "paths: [/webhooks/stripe]\ntype:", "paths", "also a path of"},
		"extends nothing": {"type:", "extends: nobody\ntype:", "extends", "isn't a definition"},
		"wrong kind":      {"type: .body.type", "type: [a]", "type", "want text"},
		"not a list":      {"auth:", "paths: /x\nauth:", "paths", "want a list"},
		"redaction":       {"type:", "redact: ['.body |']\ntype:", "redact[0]", "is not jq"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, minimal, c.old)
			_, err := loadOne(t, strings.Replace(minimal, c.old, c.new, 1))
			require.Error(t, err)
			var found bool
			for _, m := range definition.Errors(err) {
				if strings.HasSuffix(m.File, ".yaml") && m.Field == c.field {
					require.Contains(t, m.Reason, c.reason)
					found = true
				}
			}
			require.True(t, found, "want an error in %q: %v", c.field, err)
		})
	}
}

// All errors of all files are reported at once.
func TestAllMistakesAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Load(writeDefinitions(t, map[string]string{
		"one.yaml":   strings.NewReplacer("acme", "one", "type:", "what: 1\nwhich: 2\ntype:").Replace(minimal),
		"two.yaml":   strings.NewReplacer("name: acme", "name: two", ".body.type", "now", "key: {parts: [.body.id]}", "").Replace(minimal),
		"three.yaml": "{",
		"four.yaml":  minimal + "---\n" + minimal,
		"five.yaml":  minimal + "type: .body.again\n",
		"notes.txt":  "not a definition",
	}))
	require.Error(t, err)
	var told []string
	for _, m := range definition.Errors(err) {
		told = append(told, m.File+" "+m.Field)
	}
	require.ElementsMatch(t, []string{"one.yaml what", "one.yaml which", "two.yaml type", "two.yaml key", "three.yaml ", "four.yaml ",
		"five.yaml "}, told)
}

// A user's file adds a provider, extends a built-in one, or replaces it.
func TestFolderOfTheUser(t *testing.T) {
	t.Parallel()
	c, err := Load(writeDefinitions(t, map[string]string{
		"acme.yaml":   strings.Replace(minimal, "type:", "paths: ['/in/{tenant}/acme']\ntype:", 1),
		"stripe.yaml": "name: stripe\nextends: stripe\nbody_limit: 1000\n",
		"beta.yaml":   "name: beta\nextends: stripe\ndedupe: 1h\npriority: high\n",
	}))
	require.NoError(t, err)
	require.Subset(t, c.Names(), []string{"acme", "beta", "standard-webhooks", "stripe"})
	stripe, _ := c.Lookup("stripe")
	require.Equal(t, 1000, stripe.BodyLimit(0))
	require.Equal(t, 3, stripe.Policy("charge.succeeded").Attempts)
	beta, _ := c.Lookup("beta")
	require.Equal(t, 3, beta.Policy("charge.succeeded").Attempts)
	require.Equal(t, []string{"/webhooks/beta"}, beta.Paths())
	acme, params, ok := c.ByPath("/in/a%2Fb/acme/")
	require.True(t, ok)
	require.Equal(t, "acme", acme.Name())
	require.Equal(t, map[string]string{"tenant": "a/b"}, params)
	for _, path := range []string{"/", "/webhooks", "/webhooks/nobody", "/in//acme", "/in/%zz/acme", "/webhooks/../stripe"} {
		_, _, ok := c.ByPath(path)
		require.False(t, ok, path)
	}
}

// The error for an unreadable folder names it and its variable.
func TestAFolderThatCannotBeRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, dir := range []string{filepath.Join(t.TempDir(), "nowhere"), file} {
		_, err := Load(dir)
		require.ErrorContains(t, err, dir)
		require.ErrorContains(t, err, "HOLDFAST_PROVIDERS_DIR")
	}
}

// The first sample of the file is the default type; a definition that is merged over a built-in one keeps that one's default.
func TestTheFirstSampleOfTheFileIsTheDefault(t *testing.T) {
	t.Parallel()
	const definition = `
type: .body.type
key: {parts: [.body.id]}
auth: [{token: {secrets: S, in: bearer}}]
`
	c, err := Load(writeDefinitions(t, map[string]string{
		"acme.yaml":  "name: acme" + definition + "samples: {z.first: {body: '{}'}, a.second: {body: '{}'}}",
		"none.yaml":  "name: none" + definition,
		"slack.yaml": "name: slack\nextends: slack\npriority: normal\n",
		"clerk.yaml": "name: clerk\nextends: clerk\nsamples: {mine.own: {body: '{}'}}\n",
	}))
	require.NoError(t, err)
	for name, want := range map[string]string{
		"stripe": "customer.updated", "slack": "app_mention", "acme": "z.first", "none": "", "clerk": "mine.own",
	} {
		p, _ := c.Lookup(name)
		require.Equal(t, want, p.DefaultSample(), name)
	}
}

// The samples of a built-in file are at its end, and are parsed for a definition that is compiled.
func TestOnlySamplesAreParsedLater(t *testing.T) {
	t.Parallel()
	files, err := readBuiltIn()
	require.NoError(t, err)
	for name, f := range files {
		require.NotContains(t, f.Tree, "samples", name)
		whole, err := f.Whole()
		require.NoError(t, err)
		require.NotEmpty(t, whole.Tree["samples"], name)
		rest := maps.Clone(whole.Tree)
		delete(rest, "samples")
		require.Equal(t, rest, f.Tree, "%s: `samples` must be its last field", name)
	}
}

// What isn't configured isn't compiled, so that a start doesn't pay for the size of the catalogue. With 81 definitions, whose
// samples were parsed too, a load made 472,108 allocations.
func TestLoadAllocatesLittle(t *testing.T) {
	allocations := testing.AllocsPerRun(1, func() {
		files, err := readBuiltIn()
		require.NoError(t, err)
		_, err = load(files, nil)
		require.NoError(t, err)
	})
	require.Less(t, allocations, 1.2*472108)
}
