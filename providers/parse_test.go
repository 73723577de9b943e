package providers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/reading"
)

// parse applies a definition to a body like the ingress and the parse step.
func parse(t testing.TB, p *Provider, body string, change ...func(*auth.Request)) (reading.Item, event.Parsed, error) {
	t.Helper()
	r := &auth.Request{Method: "POST", Body: []byte(body), Header: map[string][]string{}}
	require.NoError(t, p.Sign(r, secretOfTests, clock))
	for _, c := range change {
		c(r)
	}
	require.NoError(t, p.Authenticate(r, clock))
	items, err := p.Split(r)
	require.NoError(t, err)
	require.Len(t, items, 1)
	parsed, err := p.Parse(receiptOfTest(p, items[0]), items[0].Body)
	return items[0], parsed, err
}

// An event without identity is a dead letter until its definition identifies it: then it can be replayed.
func TestCorrectedDefinitionSavesAnEvent(t *testing.T) {
	t.Parallel()
	item, _, err := parse(t, mustLoad(t, minimal), `{"type":"x","uid":"7"}`)
	require.Equal(t, "missing_key", event.CodeOf(err))
	for _, key := range []string{"{parts: [.body.id // .body.uid]}", "{parts: [.body.id], fallback: body_sha256}"} {
		p := mustLoad(t, strings.Replace(minimal, "{parts: [.body.id]}", key, 1))
		parsed, err := p.Parse(receiptOfTest(p, item), item.Body)
		require.NoError(t, err)
		require.Equal(t, "x", parsed.Type)
	}
}

// The dead letter of an event without an identity names the expression that gave nothing, and never its value.
func TestADeadLetterNamesTheMissingKeyPart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, new, body, message, rule string }{
		{"", "", `{"type":"x","uid":"secret7"}`, ".body.id gave null", "key.parts[0]"},
		{"", "", `{"type":"x","id":""}`, `.body.id gave ""`, "key.parts[0]"},
		{"", "", `{"type":"x","id":["secret7"]}`, ".body.id gave a value of type array", "key.parts[0]"},
		{"[.body.id]", "[.body.type, .body.data.id]", `{"type":"x"}`, ".body.data.id gave null", "key.parts[1]"},
		{"[.body.id]", "[.body.data.id]", `{"type":"x","data":"secret7"}`,
			".body.data.id failed, which counts as nothing: expected an object but got: string", "key.parts[0]"},
		{"[.body.id]", `['"a:" + .body.id']`, `{"type":"x"}`, `"a:" + .body.id failed, which counts as nothing: null became part of a text`,
			"key.parts[0]"},
		{"[.body.id]", "[{expr: .body.a, optional: true}, body_sha256]", `{"type":"x"}`, "", ""},
		{"type: .body.type", "type: .body.type\nuntyped: reject", `{"id":"1"}`, ".body.type gave null", "type"},
	} {
		_, _, err := parse(t, mustLoad(t, strings.Replace(minimal, c.old, c.new, 1)), c.body)
		if c.message == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, ": "+c.message+": evaluate ", c.body)
		require.NotContains(t, err.Error(), "secret7")
		require.Equal(t, c.rule, event.Failure{Code: event.CodeOf(err), Message: err.Error()}.Rule())
	}
}

// The body's hash is a key only if the definition says so, and then for a short time.
func TestFallbackKey(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, strings.Replace(minimal, "{parts: [.body.id]}",
		"{parts: [.body.id], fallback: body_sha256, fallback_window: 10m}\ndedupe: 2d", 1))
	with, _, err := parse(t, p, `{"type":"x","id":1}`)
	require.NoError(t, err)
	require.Equal(t, event.KeyFromEvent, with.KeyFrom)
	require.Equal(t, event.Duration(48*time.Hour), with.DedupeWindow)
	without, _, err := parse(t, p, `{"type":"x"}`)
	require.NoError(t, err)
	require.Equal(t, event.KeyFromBody, without.KeyFrom)
	require.Equal(t, event.Duration(10*time.Minute), without.DedupeWindow)
	other, _, err := parse(t, p, `{"type":"x" }`)
	require.NoError(t, err)
	require.NotEqual(t, without.Key, other.Key)
}

// Anyone can add a header outside the signature: the key's expressions don't see it, even if an expression reads it in a way
// that loading doesn't detect.
func TestKeySeesOnlySignedParts(t *testing.T) {
	t.Parallel()
	sneaky := strings.Replace(minimal, "key: {parts: [.body.id]}",
		"keep: {headers: [x-id]}\nkey: {parts: ['(. as $r | $r.headers[\"x-id\"]) // .body.id']}", 1)
	item, _, err := parse(t, mustLoad(t, sneaky), `{"type":"x","id":"signed"}`, func(r *auth.Request) {
		r.Header["x-id"] = []string{"forged"}
	})
	require.NoError(t, err)
	require.Equal(t, "signed", item.Key)
	require.Equal(t, "forged", item.Headers["x-id"])
	told := strings.Replace(sneaky, "key: {", "key: {unsigned: the sender signs no header, ", 1)
	item, _, err = parse(t, mustLoad(t, told), `{"type":"x","id":"signed"}`, func(r *auth.Request) { r.Header["x-id"] = []string{"guid"} })
	require.NoError(t, err)
	require.Equal(t, "guid", item.Key)
}

// Receipts are bounded and contain no secrets.
func TestKeptHeaders(t *testing.T) {
	t.Parallel()
	item, _, err := parse(t, mustLoad(t, minimal), `{"type":"x","id":"1"}`, func(r *auth.Request) {
		r.Header["authorization"] = []string{"Bearer x"}
		r.Header["cookie"] = []string{"x"}
		r.Header["x-unknown"] = []string{"x"}
		r.Header["user-agent"] = []string{"acme\r\n\x00" + strings.Repeat("é", 2000)}
		r.Header["x-request-id"] = []string{"a", "b"}
	})
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"user-agent": "acme" + strings.Repeat("é", 510), "x-request-id": "a, b",
	}, item.Headers)
}

func TestEventTypeIsBounded(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, minimal)
	for body, want := range map[string]string{
		`{"id":1,"type":"a\u0000b\n\u001b[2Jc"}`:              "ab[2Jc",
		`{"id":1,"type":"` + strings.Repeat("é", 5000) + `"}`: strings.Repeat("é", 127),
		`{"id":1,"type":7}`:                                   "7",
		`{"id":1,"type":null}`:                                reading.UnknownType,
		`{"id":1,"type":{}}`:                                  reading.UnknownType,
		`{"id":1}`:                                            reading.UnknownType,
	} {
		_, parsed, err := parse(t, p, body)
		require.NoError(t, err)
		require.Equal(t, want, parsed.Type)
	}
}

func TestOccurredAt(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, strings.Replace(minimal, "type:",
		"occurred_at: [{expr: .body.a, units: [unix_s, rfc3339]}, {expr: .body.b, units: [unix_ms, rfc2822]}]\ntype:", 1))
	for fields, want := range map[string]string{
		`"a":1777888800`:                             "2026-05-04T10:00:00Z",
		`"a":"1777888800"`:                           "2026-05-04T10:00:00Z",
		`"a":1777888800.25`:                          "2026-05-04T10:00:00.25Z",
		`"a":1.7778888e9`:                            "2026-05-04T10:00:00Z",
		`"a":"2026-05-04T12:00:00.000001+02:00"`:     "2026-05-04T10:00:00.000001Z",
		`"b":1777888800125`:                          "2026-05-04T10:00:00.125Z",
		`"a":"soon","b":1777888800125`:               "2026-05-04T10:00:00.125Z",
		`"b":"Mon, 04 May 2026 10:00:00 +0000"`:      "2026-05-04T10:00:00Z",
		`"a":0`:                                      "",
		`"a":-5`:                                     "",
		`"a":99999999999`:                            "",
		`"a":1e1000000000`:                           "",
		`"a":123456789012345678901234567890`:         "",
		`"a":"2026-05-07T12:00:00Z"`:                 "",
		`"a":[1777888800]`:                           "",
		`"c":1`:                                      "",
		`"a":"2026-05-04T10:00:00Z\u0000"`:           "",
		`"a":"` + strings.Repeat("9", 100_000) + `"`: "",
	} {
		_, parsed, err := parse(t, p, `{"id":1,"type":"x",`+fields+`}`)
		require.NoError(t, err)
		require.Equal(t, want == "", parsed.OccurredAtMissing, "%.60s", fields)
		if want == "" {
			want = clock.Format(time.RFC3339)
		}
		require.Equal(t, want, parsed.OccurredAt.Format(time.RFC3339Nano), "%.60s", fields)
	}
}

// Publishers of events get an error for an unreadable time: it isn't replaced by the time of receipt.
func TestAPublishedTimeMustBeReadable(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "events", secretOfTests)
	for fields, code := range map[string]string{
		`"time":"yesterday"`: "invalid_time", `"time":[1]`: "invalid_time", `"timestamp":"9999-01-01T00:00:00Z"`: "invalid_time",
		`"occurred_at":true`: "invalid_time", `"time":7`: "invalid_time",
		`"time":null`: "", `"time":""`: "", `"n":1`: "", `"time":"2026-05-04T10:00:00Z"`: "", `"time":1777888800125`: "", `"time":1777888800`: "",
	} {
		_, parsed, err := parse(t, p, `{"id":"1","type":"order.paid","data":{"id":"o1"},`+fields+`}`)
		if code != "" {
			require.Equal(t, code, event.CodeOf(err), fields)
			require.Equal(t, event.ClassRejected, event.ClassOf(err), fields)
			require.NotContains(t, err.Error(), "yesterday")
			continue
		}
		require.NoError(t, err, fields)
		require.Equal(t, strings.Contains(fields, "2026") || strings.Contains(fields, "1777"), !parsed.OccurredAtMissing, fields)
	}
}

// A published event without a type is a dead letter, not an event that changes no entity.
func TestAPublishedEventNeedsAType(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "events", secretOfTests)
	for _, fields := range []string{`"n":1`, `"type":null`, `"type":""`, `"type":{}`, `"type":["order.paid"]`} {
		_, _, err := parse(t, p, `{"id":"1","data":{"id":"o1"},`+fields+`}`)
		require.Equal(t, "missing_type", event.CodeOf(err), fields)
		require.Equal(t, event.ClassRejected, event.ClassOf(err), fields)
	}
	_, _, err := parse(t, mustLoad(t, minimal), `{"id":1}`)
	require.NoError(t, err, "elsewhere its type is unknown")
}

const entities = `
entities:
  - {kind: item, each: '.body.items[]?', id: $item.id, op: snapshot, state: $item, version: $item.v, types: ["*.list"]}
  - {kind_from: .body.kind, id: .body.ref, delete_on: ["*.gone"], when: .body.ref != "skip"}
`

func TestEntities(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, minimal+entities)
	changes := func(fields string) (string, error) {
		_, parsed, err := parse(t, p, `{"id":1,`+fields+`}`)
		var out []string
		for _, c := range parsed.Changes {
			s := c.Kind + "/" + c.ExternalID + " " + string(c.Op) + string(c.State)
			if c.Version != nil {
				s += " v" + time.Duration(*c.Version).String()
			}
			out = append(out, s)
		}
		return strings.Join(out, "; "), err
	}
	many := make([]string, 10_000)
	for i := range many {
		many[i] = fmt.Sprintf(`{"id":%d}`, i)
	}
	got, err := changes(`"type":"a.list","items":[` + strings.Join(many, ",") + `]`)
	require.NoError(t, err)
	require.Equal(t, 10_000, strings.Count(got, "snapshot"))
	for fields, want := range map[string]string{
		`"type":"a.list","items":[{"id":1,"v":3},{"id":"b"},{"x":1},{"id":1}]`: `item/1 snapshot{"id":1,"v":3} v3ns; item/b snapshot{"id":"b"}`,
		`"type":"other","items":[{"id":1}]`:                                    "",
		`"type":"x","kind":"thing","ref":12345678901234567890`:                 "thing/12345678901234567890 patch",
		`"type":"x.gone","kind":"thing","ref":"t"`:                             "thing/t delete",
		`"type":"x","kind":"thing","ref":"skip"`:                               "",
		`"type":"x","kind":null,"ref":"t"`:                                     "",
	} {
		got, err := changes(fields)
		require.NoError(t, err, fields)
		require.Equal(t, want, got)
	}
	for fields, code := range map[string]string{
		`"type":"a.list","items":[{"id":1,"v":"3"}]`:                                               "bad_version",
		`"type":"a.list","items":[{"id":1,"v":-1}]`:                                                "bad_version",
		`"type":"a.list","items":[{"id":1,"v":1.5}]`:                                               "bad_version",
		`"type":"a.list","items":[{"id":1,"v":9223372036854775807}]`:                               "bad_version",
		`"type":"a.list","items":[{"id":1,"v":1e1000000000}]`:                                      "bad_version",
		`"type":"x","kind":"a b","ref":"t"`:                                                        "bad_entity_kind",
		`"type":"x","kind":"thing","ref":"a\u0000"`:                                                "bad_entity_id",
		`"type":"x","kind":"thing","ref":"` + strings.Repeat("x", 600) + `"`:                       "bad_entity_id",
		`"type":"a.list","items":[` + strings.TrimSuffix(strings.Repeat("{},", 10_001), ",") + `]`: "too_many_entities",
	} {
		_, err := changes(fields)
		require.Equal(t, code, event.CodeOf(err), "%.60s", fields)
	}
}

// The error of a failing expression has its field, jq's reason and the type of the value, but not the payload.
func TestFailuresTellNoPayload(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, minimal+"\nentities: [{kind: x, id: '.body.card | tonumber'}]\n")
	_, _, err := parse(t, p, `{"id":1,"type":"x","card":"4242-secret"}`)
	require.EqualError(t, err, "jq_failed: tonumber cannot be applied to this string: evaluate entities[0].id")
	require.Equal(t, "entities[0].id", event.Failure{Code: "jq_failed", Message: err.Error()}.Rule())
	require.Equal(t, event.ClassFailed, event.ClassOf(err))
}

// The recipe of docs/expressions.md turns a time with any number of decimals into a version in microseconds.
func TestARecipeMakesVersionsOfTimes(t *testing.T) {
	t.Parallel()
	_, recipe, ok := strings.Cut(readDocs(t, "expressions.md"), "version: >-\n")
	require.True(t, ok)
	recipe, _, _ = strings.Cut(recipe, "```")
	p := mustLoad(t, minimal+"\nentities: [{kind: x, id: .body.id, version: '"+strings.TrimSpace(recipe)+"'}]\n")
	for text, want := range map[string]int64{
		"2026-11-25T10:00:00Z":           1795600800000000,
		"2026-11-25T10:00:00.5Z":         1795600800500000,
		"2026-11-25T10:00:00.123456789Z": 1795600800123456,
		"2026-11-25T12:00:00.25+02:00":   1795600800250000,
	} {
		_, parsed, err := parse(t, p, `{"id":"1","type":"x","updated_at":"`+text+`"}`)
		require.NoError(t, err, text)
		require.Equal(t, want, *parsed.Changes[0].Version, text)
	}
	_, parsed, err := parse(t, p, `{"id":"1","type":"x"}`)
	require.NoError(t, err)
	require.Nil(t, parsed.Changes[0].Version, "an object without a time has no version")
}

// An expression that does not come to an end is ended: by its budget or, on a slow machine, by the deadline. At the ingress the
// deadline is an error of ours, not of the event.
func TestEndlessExpression(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, minimal+"\nentities: [{kind: x, id: 'last(repeat(1))'}]\n")
	_, _, err := parse(t, p, `{"id":1,"type":"x"}`)
	require.Contains(t, []string{"jq_too_costly", "jq_deadline"}, event.CodeOf(err))
}

// The first override that fits applies, and changes only what it names.
func TestOverrides(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, minimal+`
dedupe: 1d
overrides:
  - {types: ["call.in*"], priority: critical, timeout: 60s, retry: {attempts: 1}, key: {parts: [.body.other]}}
  - {types: ["noise.*", "call.*"], ignore: true, dedupe: 1h}
`)
	inbound, parsed, err := parse(t, p, `{"type":"call.inbound","other":"o","id":"i"}`)
	require.NoError(t, err)
	require.Equal(t, "o", inbound.Key)
	require.Equal(t, event.PriorityCritical, inbound.Priority)
	require.Equal(t, event.Duration(24*time.Hour), inbound.DedupeWindow)
	require.Equal(t, event.Duration(time.Minute), parsed.Policy.Timeout)
	require.Equal(t, 1, parsed.Policy.Attempts)
	noise, parsed, err := parse(t, p, `{"type":"noise.x","id":"i"}`)
	require.NoError(t, err)
	require.Equal(t, event.OutcomeIgnored, parsed.Outcome)
	require.Equal(t, event.Duration(time.Hour), noise.DedupeWindow)
	_, parsed, err = parse(t, p, `{"type":"x","id":"i"}`)
	require.NoError(t, err)
	require.Equal(t, event.OutcomeProcessed, parsed.Outcome)
	require.Equal(t, 4, parsed.Policy.Attempts)
}

// A fire-hose takes the bulk lane by its definition or by its type; an event that is too large for a batch does not.
func TestLane(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, minimal+`
lane: bulk
overrides: [{types: [rare], lane: workflow}, {types: [common], ignore: true}]
`)
	large := strings.Repeat("x", 32<<10)
	for body, want := range map[string]bool{
		`{"type":"any","id":"i"}`:                        true,
		`{"type":"common","id":"i"}`:                     true,
		`{"type":"rare","id":"i"}`:                       false,
		`{"type":"any","id":"i","text":"` + large + `"}`: false,
	} {
		item, _, err := parse(t, p, body)
		require.NoError(t, err)
		require.Equal(t, want, item.Bulk, item.Type)
	}
	item, _, err := parse(t, mustLoad(t, minimal), `{"type":"any","id":"i"}`)
	require.NoError(t, err)
	require.False(t, item.Bulk)
}

func TestRedaction(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, minimal+"\nredact: ['.body.card.number', '.body.list[]?.secret', '.body.absent.x']\n")
	got, err := p.Redact(event.Receipt{}, []byte(`{"card":{"number":"4242","brand":"v"},"list":[{"secret":1},{"a":2}]}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"card":{"number":"[redacted]","brand":"v"},"list":[{"secret":"[redacted]"},{"a":2}]}`, string(got))
}

// A signed body that is not JSON is kept; once the definition takes text, the same receipt parses.
func TestPoisonIsSavedByACorrectedDefinition(t *testing.T) {
	t.Parallel()
	item, _, err := parse(t, providerOf(t, "stripe", secretOfTests), "not json")
	require.Equal(t, "malformed_json", event.CodeOf(err))
	c, err := Load(writeDefinitions(t, map[string]string{"stripe.yaml": `
name: stripe
extends: stripe
decode: [{as: text}]
type: '"note"'
key: {fallback: body_sha256}
entities: []
`}))
	require.NoError(t, err)
	p, _ := c.Lookup("stripe")
	parsed, err := p.Parse(receiptOfTest(p, item), item.Body)
	require.NoError(t, err)
	require.Equal(t, "note", parsed.Type)
}
