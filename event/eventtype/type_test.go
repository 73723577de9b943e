package eventtype_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/eventtype"
)

func withSchema(schema string) eventtype.EventType {
	return eventtype.EventType{
		Name: "order.paid", Check: eventtype.CheckRefuse,
		Versions: map[string]eventtype.TypeVersion{"1": {Schema: json.RawMessage(schema)}},
	}
}

func problemOf(t *testing.T, one eventtype.EventType) string {
	t.Helper()
	all := one.Problems()
	require.Len(t, all, 1)
	return all[0].Field + ": " + all[0].Reason
}

func TestAnInvalidSchemaIsRefusedAtDeclaration(t *testing.T) {
	t.Parallel()
	for schema, reason := range map[string]string{
		`{"type": "strng"}`: "'/type'", `{"items": [{}]}`: "'/items'", `{`: "not one JSON value", `12`: "not a schema",
		`{} {}`: "not one JSON value",
		`{"$schema": "http://json-schema.org/draft-07/schema#"}`:                "$schema: use https://json-schema.org/draft/2020-12/schema",
		`{"$defs": {"a": {"$id": "b", "$schema": "https://example.com/mine"}}}`: "$schema: use",
		`{"$ref": "https://example.com/other.json"}`:                            "another document",
		`{"$ref": "file:///etc/hostname"}`:                                      "another document",
		`{"$ref": "https://json-schema.org/draft/2020-12/schema"}`:              "$dynamicRef isn't supported: use $ref",
		`{"$ref": "other.json"}`:                                                "another document",
		`{"$ref": "#/$defs/missing"}`:                                           "/$defs/missing",
		`{"pattern": "^(?=a)"}`:                                                 "RE2",
		`{"pattern": "^.{1,2000}$"}`:                                            "RE2",
		`{"patternProperties": {"(a)\\1": true}}`:                               "RE2",
		`{"pattern": "` + strings.Repeat("a", 1001) + `"}`:                      "up to 1000 bytes",
		`{"allOf": [` + patterns(25) + `{}]}`:                                   "the patterns are too large",
		`{"maximum": 1e999999999}`:                                              "exponent",
		strings.Repeat(`{"not":`, 65) + `{}` + strings.Repeat(`}`, 65):          "deeper than 64",
		`{"description": "` + strings.Repeat("a", eventtype.MaxSchema) + `"}`:   "of 65536",
	} {
		require.Contains(t, problemOf(t, withSchema(schema)), reason, schema[:min(len(schema), 80)])
	}
	require.Empty(t, withSchema(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "#/$defs/a", "$defs": {"a": {}}}`).
		Problems())
}

// patterns returns distinct patterns of about 1,000 instructions each.
func patterns(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"pattern": "^%d[a-z]{1000}$"},`, i)
	}
	return b.String()
}

// names returns the texts of n numbers.
func names(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%q", strconv.Itoa(i))
	}
	return strings.Join(all, ",")
}

func TestADeclarationIsChecked(t *testing.T) {
	t.Parallel()
	one := withSchema(`{"type": "object"}`)
	one.Name = "order paid"
	require.Contains(t, problemOf(t, one), "name: use up to 128 letters")

	one = withSchema(`{"type": "object"}`)
	one.Check = "on"
	require.Equal(t, "check: use off, warn or refuse", problemOf(t, one))

	one = withSchema(`{"type": "object"}`)
	one.Versions = map[string]eventtype.TypeVersion{"01": {Schema: json.RawMessage(`{}`)}}
	require.Equal(t, "versions.01: use a whole number from 1 on", problemOf(t, one))

	one = withSchema(`{"required": ["id"]}`)
	one.Versions["1"] = eventtype.TypeVersion{Schema: json.RawMessage(`{"required": ["id"]}`), Example: json.RawMessage(`{}`)}
	require.Equal(t, "versions.1.example: it violates the schema: /id: required", problemOf(t, one))

	one.Versions = nil
	require.Contains(t, problemOf(t, one), "declare 1 to 20 versions")
}

func TestAViolationNamesPathAndRuleButNoValue(t *testing.T) {
	t.Parallel()
	catalog := catalogOf(t, withSchema(`{
		"required": ["id"], "additionalProperties": false,
		"properties": {"id": {}, "total": {"type": "integer"}, "to/": {"items": {"maxLength": 3}}, "kind": {"anyOf": [{"const": "a"}]}}
	}`))
	r := check(catalog, (`{"type":"order.paid","data":{"total":"secret","to/":["secret"],"kind":"secret","colour":"secret"}}`))
	require.Equal(t, "order.paid version 1: /data/colour: additionalProperties, /data/id: required, /data/kind: anyOf, "+
		"/data/total: type, /data/to~1/0: maxLength", r.Text())
	require.NotContains(t, r.Text(), "secret")
	require.Contains(t, r.Below("/3").Text(), "/3/data/total: type")

	many := check(catalog, (`{"data":{"id":1,"to/":[` + strings.TrimSuffix(strings.Repeat(`"long",`, 100), ",") + `]}}`))
	require.Len(t, many.Violations, 10)
	require.Equal(t, "order.paid version 1: /data: required", check(catalog, `{"type":"order.paid"}`).Text())
}

func TestWhichVersionIsMatched(t *testing.T) {
	t.Parallel()
	one := withSchema(`{"required": ["a"]}`)
	one.Versions["2"] = eventtype.TypeVersion{Schema: json.RawMessage(`{"required": ["b"]}`)}
	one.Versions["10"] = eventtype.TypeVersion{Schema: json.RawMessage(`{"required": ["c"]}`), Deprecated: true}
	catalog := catalogOf(t, one)
	for body, want := range map[string]string{
		`{"data":{}}`:                     "order.paid version 1: /data/a: required", // the lowest
		`{"version":2,"data":{}}`:         "order.paid version 2: /data/b: required",
		`{"version":"2","data":{}}`:       "order.paid version 2: /data/b: required",
		`{"version":10,"data":{"c":1}}`:   "order.paid version 10 is deprecated",
		`{"version":3,"data":{}}`:         "order.paid: /version: version",
		`{"version":"v2","data":{}}`:      "order.paid: /version: version",
		`{"version":{"a":1},"data":{}}`:   "order.paid: /version: version",
		`{"version":null,"data":{}}`:      "order.paid: /version: version",
		`{"version":2,"data":{"b":null}}`: "",
	} {
		require.Equal(t, want, check(catalog, body).Text(), body)
	}
	require.Equal(t, eventtype.CheckOff, catalog.CheckEvent("order.created", []byte(`{"data":{}}`), new(int)).Check)
	one.Check = ""
	require.Equal(t, eventtype.CheckOff, check(catalogOf(t, one), `{"data":{}}`).Check)
}

// A schema of a few hundred bytes, a number of a few digits or a text of a megabyte must not occupy a process.
func TestACheckIsBounded(t *testing.T) {
	t.Parallel()
	var chain strings.Builder
	for i := range 40 {
		fmt.Fprintf(&chain, `"d%d": {"anyOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	nested := func(depth int, inner string) string {
		return strings.Repeat("[", depth) + inner + strings.Repeat("]", depth)
	}
	list := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	numbers := "[" + strings.TrimSuffix(strings.Repeat("1e999999,", 100_000), ",") + "]"
	for name, c := range map[string]struct{ schema, data string }{
		"references that double":     {`{"$ref": "#/$defs/d0", "$defs": {` + chain.String() + `"d40": {"type": "string"}}}`, `1`},
		"the same, for yes or no":    {`{"not": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}, "contains": {"$ref": "#/$defs/n"}}}}`, nested(60, "1")},
		"a pattern and a long text":  {`{"pattern": "[ab]{1000}c"}`, `"` + strings.Repeat("a", 1<<20) + `"`},
		"numbers with long decimals": {`{"items": {"maximum": 1}}`, numbers},
		"an exponent out of reach":   {`{"minimum": 1}`, `1e1000000000000`},
		"an enum of many numbers":    {`{"items": {"enum": [` + list(500, "1") + `]}}`, nested(1, list(4000, "2"))},
		"branches of another type":   {`{"items": {"anyOf": [` + list(300, `{"type": "string"}`) + `]}}`, nested(1, list(3000, "1"))},
		"many missing fields":        {`{"items": {"required": [` + names(3000) + `]}}`, nested(1, list(1000, "{}"))},
		"errors with long paths":     {`{"type": "array", "items": {"$ref": "#"}}`, nested(900, list(4000, "1"))},
		"very many values":           {`{"items": {"type": "string"}}`, "[" + strings.TrimSuffix(strings.Repeat("1,", 400_000), ",") + "]"},
	} {
		catalog := catalogOf(t, withSchema(c.schema))
		begin := time.Now()
		r := check(catalog, `{"data":`+c.data+`}`)
		require.Equal(t, "order.paid version 1: /data: limit", r.Text(), name)
		require.Less(t, time.Since(begin), 20*time.Second, name)
	}
}

// Patterns in events don't count against the limit on the patterns of the schema, and are neither compiled nor kept.
func TestThePatternsOfEventsAreOnlyParsed(t *testing.T) {
	t.Parallel()
	catalog := catalogOf(t, withSchema(`{"format": "regex"}`))
	for i := range 40 {
		r := check(catalog, fmt.Sprintf(`{"data":"%d%s"}`, i, strings.Repeat("a{1000}", 100)))
		require.Empty(t, r.Text())
	}
	require.Equal(t, "order.paid version 1: /data: format", check(catalog, `{"data":"("}`).Text())
}

// The events of a request share the work, so that a list of them can't multiply it.
func TestTheWorkForARequestIsBounded(t *testing.T) {
	t.Parallel()
	catalog := catalogOf(t, withSchema(`{"items": {"maximum": 3}}`))
	steps := eventtype.MaxSteps
	for range 2 {
		body := []byte(`{"data":[` + strings.TrimSuffix(strings.Repeat("1,", 49_000), ",") + `]}`)
		require.Empty(t, catalog.CheckEvent("order.paid", body, &steps).Text())
	}
	require.Less(t, steps, eventtype.MaxSteps-2*2*49_000)
	steps = 10
	require.Equal(t, "order.paid version 1: /data: limit", catalog.CheckEvent("order.paid", []byte(`{"data":[1,2,3,4,5,6]}`), &steps).Text())
	require.Negative(t, steps)
}

// check checks an event that is alone in its request.
func check(catalog *eventtype.Catalog, body string) eventtype.Result {
	steps := eventtype.MaxSteps
	return catalog.CheckEvent("order.paid", []byte(body), &steps)
}

func TestAnUnchangedVersionIsCompiledOnce(t *testing.T) {
	t.Parallel()
	one := withSchema(`{"required": ["a"]}`)
	before := catalogOf(t, one)
	broken := withSchema(`{"type": "strng"}`) // as a newer Holdfast may have accepted
	broken.Name = "broken"
	after, err := eventtype.NewCatalog([]eventtype.EventType{one, broken}, before)
	require.ErrorContains(t, err, "event type broken version 1: it is not a schema")
	require.True(t, eventtype.SharesSchema(before, after, "order.paid", "1"))
	require.Equal(t, eventtype.CheckOff, after.CheckEvent("broken", []byte(`{}`), new(int)).Check)

	one.Versions["1"] = eventtype.TypeVersion{Schema: json.RawMessage(`{"required": ["b"]}`)}
	changed, err := eventtype.NewCatalog([]eventtype.EventType{one}, after)
	require.NoError(t, err)
	require.Equal(t, "order.paid version 1: /data/b: required", check(changed, `{"data":{}}`).Text())
}
