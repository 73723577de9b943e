package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The built-in catalogue passes the linter.
func TestCatalogueIsClean(t *testing.T) {
	t.Parallel()
	checked, err := CheckAll("", nil)
	require.NoError(t, err)
	for _, f := range checked.Findings {
		t.Error(f)
	}
	require.GreaterOrEqual(t, len(checked.Names), 18)
}

// sampled is a definition without findings; tests change one thing about it.
const sampled = minimal + `
entities:
  - {kind: order, types: ["order.*"], scope: provider, id: .body.order, delete_on: [order.deleted]}
occurred_at: [{expr: .body.at, units: [rfc3339]}]
samples:
  order.paid: {body: '{id: "evt_\(.id)", type: "order.paid", order: "o\(.id)", at: .rfc3339}'}
`

func lintOf(t *testing.T, definition string, secrets ...string) []Finding {
	t.Helper()
	checked, err := CheckPath(writeDefinitions(t, map[string]string{"acme.yaml": definition}), secretsOf(secrets...))
	require.NoError(t, err)
	require.Equal(t, []string{"acme"}, checked.Names)
	return checked.Problems()
}

func TestLint(t *testing.T) {
	t.Parallel()
	require.Empty(t, lintOf(t, sampled))
	for name, c := range map[string]struct {
		old, new string
		field    string
		rule     Rule
		message  string
	}{
		"no samples":          {sampled[strings.Index(sampled, "samples:"):], "", "samples", RuleNoSamples, "is missing"},
		"key is the order's":  {"{parts: [.body.id]}", "{parts: [.body.type]}", `samples["order.paid"]`, RuleSharedKey, "two events of it"},
		"no key":              {"{parts: [.body.id]}", "{parts: [.body.key]}", `samples["order.paid"]`, RuleSampleFails, "missing_key"},
		"key fails":           {"{parts: [.body.id]}", "{parts: [.body.id], fallback: body_sha256}\nsource: .body.id.x", "source", RuleSampleFails, "fails on"},
		"key part fails":      {"[.body.id]", "[.body.id, {expr: .body.id.x, optional: true}]", "key.parts[1]", RuleSampleFails, "add a ?"},
		"time fails":          {".body.at,", ".body.at.x,", "occurred_at[0].expr", RuleSampleFails, "fails on"},
		"redaction fails":     {"type: .body.type", "redact: [.body.id.x]\ntype: .body.type", "", "", ""},
		"entity fails":        {"id: .body.order", "id: .body.order.x", `samples["order.paid"]`, RuleSampleFails, "jq_failed"},
		"sample fails":        {"order: \"o", "order: (1 | .x), o: \"o", `samples["order.paid"]`, RuleSampleFails, "cannot be made"},
		"sample is no object": {"'{id:", "'[1] | {id:", `samples["order.paid"]`, RuleSampleFails, "cannot be made"},
		"wrong name":          {"  order.paid:", "  order.sent:", `samples["order.sent"]`, RuleSampleType, "is of type order.paid"},
		"fetched out of order": {
			"id: .body.order,", "id: .body.order, state: '{a: .fetched.a}',", "entities[0].state", RuleUnfetched, "add `fetched: true`",
		},
		"fetched in place of":  {"id: .body.order,", "id: .body.order, state: '{a: (.body.a // .fetched.a)}',", "", "", ""},
		"a field of that name": {"id: .body.order,", "id: .body.order, state: '{a: .body.fetched}',", "", "", ""},
		"wrong path": {
			"id: .body.order,", "id: .body.shipment.tracking?,", "entities[0]", RuleUnapplied,
			`applies to no sample: in "order.paid", .body.shipment.tracking? gave null`,
		},
		"wrong list": {
			"id: .body.order,", "each: '.body.orders[]?', id: $item.id,", "entities[0]", RuleUnapplied,
			`applies to no sample: in "order.paid", .body.orders[]? gave nothing`,
		},
		"no sample of the type": {
			"occurred_at:", "  - {kind: item, types: [item.sold], scope: provider, id: .body.item}\noccurred_at:", "", "", "",
		},
		"unscoped": {
			"scope: provider, id: .body.order, delete_on: [order.deleted]}\n", "id: .body.order, delete_on: [order.deleted]}\nsource: .body.id\n",
			"entities[0].scope", RuleUnscoped, "is missing",
		},
		"unversioned": {
			"delete_on: [order.deleted]}\n",
			"delete_on: [order.deleted]}\n  - {kind: order, scope: provider, id: .body.id, op: snapshot, state: .body, version: .body.n}\n",
			"entities[0].version", RuleUnversioned, `other rules of kind "order"`,
		},
		"bulk is not urgent": {"type: .body.type", "lane: bulk\npriority: high\ntype: .body.type", "lane", RuleIneffective, "priority high"},
		"override is covered": {
			"samples:", "overrides: [{types: [\"order.*\"], priority: high}, {types: [order.a, order.b]}]\nsamples:",
			"overrides[1]", RuleUnreachable, "overrides[0] covers it",
		},
		"type is covered": {
			"samples:", "overrides: [{types: [order.a], priority: high}, {types: [order.a, order.b]}]\nsamples:",
			"overrides[1].types[0]", RuleUnreachable, "earlier override",
		},
		"type twice in a list": {
			"samples:", "overrides: [{types: [\"order.*\", order.b]}]\nsamples:", "overrides[0].types[1]", RuleUnreachable,
			"earlier type",
		},
		"entity of other types": {
			"samples:", "overrides: [{types: [item.sold], entities: [{kind: x, types: [order.a], id: .body.id}]}]\nsamples:",
			"overrides[0].entities[0].types", RuleUnreachable, "other types",
		},
		"entity of overridden types": {
			"samples:", "overrides: [{types: [\"o*\"], entities: []}]\nsamples:", "entities[0]", RuleUnreachable, "of their own",
		},
		"entity of ignored types": {
			"samples:", "overrides: [{types: [\"o*\"], ignore: true}]\nsamples:", "entities[0]", RuleUnreachable, "of their own",
		},
		"deletion of other types": {"[order.deleted]", "[\"*.deleted\", item.deleted]", "entities[0].delete_on[1]", RuleUnreachable, "other types"},
		"entity twice": {
			"occurred_at:", "  - {kind: order, types: [order.paid], scope: provider, id: .body.order}\noccurred_at:", "entities[1]", RuleUnreachable,
			"entities[0] names",
		},
		"entity with a fetched state, and without": {
			"occurred_at:", "  - {kind: x, fetched: true, scope: provider, id: .body.id, op: snapshot, state: .fetched}\n" +
				"  - {kind: x, scope: provider, id: .body.id}\nfetch: [{path: \"/x/{id}\", values: {id: .body.id}}]\n" +
				"api: {host: api.example.com, headers: {x-key: \"{X_KEY}\"}, rate: {requests: 1, per: 1s}}\noccurred_at:", "", "", "",
		},
		"question twice": {
			"samples:", "questions: [{types: [\"q*\"], fallback: '{}'}, {types: [qa, qb], fallback: '{}'}]\nsamples:",
			"questions[1]", RuleUnreachable, "earlier questions",
		},
		"decoder twice": {
			"samples:", "decode: [{content_type: a/b, as: text}, {content_type: A/B, as: form}, {as: json}]\nsamples:",
			"decode[1]", RuleUnreachable, "a/b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, sampled, c.old)
			found := lintOf(t, strings.Replace(sampled, c.old, c.new, 1))
			if c.rule == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1, "%v", found)
			require.Equal(t, "acme.yaml", found[0].File)
			require.Equal(t, c.field, found[0].Field)
			require.Equal(t, c.rule, found[0].Rule)
			require.Contains(t, found[0].Message, c.message)
		})
	}
}

// A pattern that jq can't use is found in its file, before an event arrives.
func TestAPatternIsCheckedInItsFile(t *testing.T) {
	t.Parallel()
	found := lintOf(t, strings.Replace(sampled, "id: .body.order,", `id: '.body.order | strings | sub("(?=x)"; "")',`, 1))
	require.Len(t, found, 1)
	require.Equal(t, "acme.yaml:12:56: entities[0].id: the pattern \"(?=x)\" of sub isn't valid at character 1: look-ahead isn't supported "+
		"(the syntax is RE2's) [invalid]", found[0].String())
}

// A rule for which there is no sample is advice: nothing is known to be wrong.
func TestARuleWithoutASampleIsAdvice(t *testing.T) {
	t.Parallel()
	more := "  - {kind: item, types: [item.sold], scope: provider, id: .body.item}\n" +
		"  - {kind: gift, when: .body.gift, scope: provider, id: .body.gift}\noccurred_at:"
	checked, err := CheckPath(writeDefinitions(t, map[string]string{"acme.yaml": strings.Replace(sampled, "occurred_at:", more, 1)}), nil)
	require.NoError(t, err)
	var found []string
	for _, f := range checked.Findings {
		if f.Rule == RuleUnapplied {
			require.True(t, f.Advice)
			found = append(found, f.Field)
		}
	}
	require.Equal(t, []string{"entities[1]", "entities[2]"}, found)
}

// An unset secret isn't a problem; one that is empty, well known or unusable is.
func TestLintOfSecrets(t *testing.T) {
	t.Parallel()
	require.Empty(t, lintOf(t, sampled, secretOfTests))
	require.Contains(t, lintOf(t, sampled, "changeme")[0].Message, "ACME_SECRET is a placeholder")
	require.Contains(t, lintOf(t, sampled, secretOfTests, " ")[0].Message, "ACME_SECRET is empty")
	require.Contains(t, lintOf(t, sampled, secretOfTests, "elevenchars")[0].Message, "ACME_SECRET has fewer than 12 characters")
	base64Key := strings.Replace(sampled, "signed:", "key: base64\n      signed:", 1)
	require.Contains(t, lintOf(t, base64Key, "this is not base64!")[0].Message, "not in the form")
	for _, f := range lintOf(t, base64Key, "this is not base64!") {
		require.NotContains(t, f.Message, "this is not base64!")
	}
}

// A batch whose items share a key would lose all but one.
func TestLintOfBatches(t *testing.T) {
	t.Parallel()
	batch := strings.NewReplacer("type: .body", "batch: {items: all}\ntype: .body",
		`{id: "evt_\(.id)", type: "order.paid", order: "o\(.id)", at: .rfc3339}`,
		`{all: [{id: "1\(.id)", type: "order.paid", order: "o1", at: .rfc3339}, {id: "2\(.id)", type: "order.sent"}]}`).Replace(sampled)
	require.Empty(t, lintOf(t, batch))
	same := lintOf(t, strings.Replace(batch, `"2\(.id)"`, `"1\(.id)"`, 1))
	require.Equal(t, RuleSharedKey, same[0].Rule)
}

// One file is checked together with its folder, and without the problems of the other files.
func TestCheckOneFile(t *testing.T) {
	t.Parallel()
	dir := writeDefinitions(t, map[string]string{
		"acme.yaml":   sampled,
		"beta.yaml":   "name: beta\nextends: acme\nsecrets: BETA_SECRET\n" + sampled[strings.Index(sampled, "samples:"):],
		"broken.yaml": "{",
		"other.yaml":  "kind: Deployment\nname: other\n",
		"taken.yaml":  strings.Replace(sampled, "name: acme", "name: taken\npaths: [/webhooks/github]", 1),
		"stripe.yaml": "name: stripe\nextends: stripe\npriority: urgent\n",
		"notes.txt":   "",
	})
	check := func(name string) Checked {
		checked, err := CheckPath(filepath.Join(dir, name), nil)
		require.NoError(t, err)
		return checked
	}
	beta := check("beta.yaml")
	require.Equal(t, []string{"beta"}, beta.Names)
	require.Empty(t, beta.Problems())
	require.Equal(t, []string{"stripe"}, check("stripe.yaml").Names)
	require.Equal(t, "stripe.yaml:3:1: priority: \"urgent\" is unknown: want one of normal, critical, high [invalid]",
		check("stripe.yaml").Findings[0].String())
	require.Equal(t, RuleInvalid, check("broken.yaml").Findings[0].Rule)
	require.Equal(t, "paths", check("taken.yaml").Findings[0].Field)
	whole, err := CheckPath(dir, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"acme", "beta", "broken", "other", "stripe", "taken"}, whole.Names)
	_, err = CheckPath(t.TempDir(), nil)
	require.ErrorContains(t, err, "has no definition")
	_, err = CheckPath(filepath.Join(dir, "notes.txt"), nil)
	require.ErrorContains(t, err, "use NAME.yaml")
	_, err = CheckPath(filepath.Join(dir, "nowhere.yaml"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A list with more delays than attempts is never exhausted.
func TestLintOfDelays(t *testing.T) {
	t.Parallel()
	require.Equal(t, RuleIneffective, lintOf(t, sampled+"retry: {attempts: 2, delays: [1s, 2s]}\n")[0].Rule)
	require.Equal(t, "retry.delays", lintOf(t, sampled+"retry: {attempts: 2, delays: [1s, 2s]}\n")[0].Field)
	require.Empty(t, lintOf(t, sampled+"retry: {attempts: 9, delays: [1s, 2s]}\n"))
}

// The page names every rule.
func TestPageNamesRules(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/providers.md")
	require.NoError(t, err)
	for _, rule := range []Rule{
		RuleInvalid, RuleNoSamples, RuleSampleFails, RuleSampleType, RuleSharedKey, RuleUnreachable, RuleUnscoped, RuleUnsigned,
		RuleSecret, RuleUnsourced, RuleUnexplained, RuleFewSamples, RuleIneffective, RuleUnversioned, RuleCoarseKey, RuleNoInput, RuleUntimed, RuleUndeleted, RuleUnhidden,
	} {
		require.Contains(t, string(page), "| `"+string(rule)+"` |")
	}
}

// A sample that no scheme can sign couldn't be sent by its sender either.
func TestLintOfAnUnsignableSample(t *testing.T) {
	t.Parallel()
	const unsendable = `
name: acme
auth: [{token: {secrets: ACME_SECRET, in: body, name: token}}]
decode: [{as: text}]
type: '"note"'
key: {parts: [body_sha256]}
samples: {note: {body: '"a note, \(.id)"'}}
`
	found := lintOf(t, unsendable)
	require.Len(t, found, 1, "%v", found)
	require.Equal(t, RuleSampleFails, found[0].Rule)
	require.Contains(t, found[0].Message, "could not be sent: not authentic: malformed_token")
}
