package movein

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/jq"
)

// Filters mean the same as where they come from; those that can't are refused.
func TestFilters(t *testing.T) {
	t.Parallel()
	f := filter{root: ".body.data", of: Hookdeck}
	strict, err := filter{root: ".body.data", of: Outpost}.jq(map[string]any{"a": map[string]any{"$gte": 10.0}})
	require.NoError(t, err)
	matches(t, strict, `{"data": {"a": 10}}`, true)
	matches(t, strict, `{"data": {"a": "12"}}`, false) // its Go port of the library converts nothing
	for _, one := range []struct{ filter, yes, no string }{
		{`{"a": {"b": "x"}}`, `{"a": {"b": "x"}}`, `{"a": "x"}`},
		{`{"a": "x"}`, `{"a": ["y", "x"]}`, `{"a": ["y"]}`},
		{`{"a": {"$neq": "x"}}`, `{"a": "y"}`, `{"a": "x"}`},
		{`{"a": {"$gt": 1, "$lte": 5}}`, `{"a": 5}`, `{"a": "6"}`},
		{`{"a": {"$in": ["x", 3]}}`, `{"a": 3}`, `{"a": "3"}`},
		{`{"a": {"$nin": ["x", 3]}}`, `{"a": "3"}`, `{"a": 3}`},
		{`{"a": {"$startsWith": "or"}, "b": {"$endsWith": "er"}}`, `{"a": "order", "b": "order"}`, `{"a": "order", "b": 7}`},
		{`{"a": {"$exist": false}}`, `{}`, `{"a": 1}`},
		{`{"a \"]": null}`, `{"a \"]": null}`, `{"a \"]": 1}`},
		// As in the tests of simple-json-match: a list matches if an element does.
		{`{"items": {"sku": "x", "n": 1}}`, `{"items": [{"sku": "y"}, {"sku": "x", "n": 1}]}`, `{"items": [{"sku": "x"}, {"n": 1}]}`},
		{`{"a.b": 1}`, `{"a.b": 1}`, `{"a": {"b": 1}}`},
		{`{"a": {"$exist": true}}`, `{"a": null}`, `{}`},
		{`{"a": {"$gte": 10}}`, `{"a": "19.99"}`, `{"a": "9.99"}`},
		{`{"a": 7}`, `{"a": "7"}`, `{"a": "8"}`},
		{`{"a": {"$eq": "7"}}`, `{"a": 7}`, `{"a": 8}`},
		{`{"a": true}`, `{"a": 1}`, `{"a": "true"}`},
		{`{"a": {"$lt": "2026-02-01"}}`, `{"a": "2026-01-31"}`, `{"a": "2026-02-01"}`},
	} {
		var tree map[string]any
		require.NoError(t, json.Unmarshal([]byte(one.filter), &tree))
		test, err := f.jq(tree)
		require.NoError(t, err, one.filter)
		matches(t, test, `{"data": `+one.yes+`}`, true)
		matches(t, test, `{"data": `+one.no+`}`, false)
	}
	for _, refused := range []string{
		`{"$or": [{"a": 1}]}`, `{"a": {"$regex": "x"}}`, `{"a": [1, 2]}`, `{"a": {"$gt": {"b": 1}}}`, `{"a": {"$in": "x"}}`,
		`{"a": 12345678901234567890}`, `{"a": {"$gte": 9007199254740994}}`, `{"a": {"$exist": false, "$eq": 1}}`, `{"a": {"b": 1, "$eq": 2}}`,
	} {
		var tree map[string]any
		require.NoError(t, json.Unmarshal([]byte(refused), &tree))
		_, err := f.jq(tree)
		require.Error(t, err, refused)
	}
}

// Convoy's conditions count as its pkg/compare and pkg/flatten do.
func TestFiltersOfConvoy(t *testing.T) {
	t.Parallel()
	f := filter{root: ".body.data", of: Convoy}
	for _, one := range []struct{ filter, yes, no string }{
		{`{"a.b": 1}`, `{"a": {"b": 1}}`, `{"a": {"b": 2}}`},
		{`{"a": {"$gte": 10}}`, `{"a": "12"}`, `{"a": "9"}`},
		{`{"a": {"$lt": 10}}`, `{"a": "unknown"}`, `{"a": 10}`},
		{`{"a": 12}`, `{"a": "12"}`, `{"a": "13"}`},
		{`{"a": "x", "b": 1}`, `{"a": {"c": 1}, "b": 1}`, `{"a": "y", "b": 1}`},
		{`{"a": "x", "b": 1}`, `{"a": [{"c": 1}], "b": 1}`, `{"a": ["y"], "b": 1}`},
		{`{"a": {"$neq": "x"}}`, `{"a": null}`, `{"a": "x"}`},
		{`{"a": {"$eq": "x"}, "b": {"$in": [1, 2]}}`, `{"b": 2}`, `{"b": 3}`},
	} {
		var tree map[string]any
		require.NoError(t, json.Unmarshal([]byte(one.filter), &tree))
		test, err := f.jq(tree)
		require.NoError(t, err, one.filter)
		matches(t, test, `{"data": `+one.yes+`}`, true)
		matches(t, test, `{"data": `+one.no+`}`, false)
	}
	for _, refused := range []string{
		`{"items.0.sku": "x"}`, `{"items.$.sku": "x"}`, `{"a": {"$exist": true}}`, `{"a": {"$gte": "x"}}`, `{"a": {"$startsWith": "x"}}`,
	} {
		var tree map[string]any
		require.NoError(t, json.Unmarshal([]byte(refused), &tree))
		_, err := f.jq(tree)
		require.Error(t, err, refused)
	}
}

// matches evaluates a filter for a published event.
func matches(t *testing.T, filter, body string, want bool) {
	t.Helper()
	x, err := jq.Compile("filter", filter)
	require.NoError(t, err, filter)
	var decoded any
	require.NoError(t, json.Unmarshal([]byte(body), &decoded))
	got, err := x.First(t.Context(), jq.NewInput(nil, nil, nil, decoded, decoded), nil)
	require.NoError(t, err, filter)
	require.Equal(t, want, got == true, "%s of %s", filter, body)
}
