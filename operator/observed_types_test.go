package operator_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/shape"
	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/operator/api/definitionapi"
	"holdfast/operator/httpapi"
)

// stubShapes has one type, whose definition needs the card that the latest event lacks.
type stubShapes struct{}

func (stubShapes) Types(_ context.Context, _, eventType string, _ int) ([]shape.Observed, error) {
	if eventType == "other" {
		return nil, nil
	}
	known := shape.New("salt")
	for range 20 {
		known.Add(someID, noon, map[string]any{"card": "4242", "name": "Ada"})
	}
	known.Add(someID, noon, map[string]any{"name": "Ada"})
	known.Changes[0].Since = known.Changes[0].Since.AddDate(100, 0, 0) // it stays new
	return []shape.Observed{{Provider: "acme", Type: "thing.changed", LastEvent: someID, At: noon, Shape: known}}, nil
}

func (stubShapes) Sample(context.Context, string, string, string, int) ([]event.Record, error) {
	large := someRecord()
	large.Body = nil
	return append(twenty(someRecord()), large), nil
}

func twenty(r event.Record) (all []event.Record) {
	for range 20 {
		all = append(all, r)
	}
	return all
}

// Each role may read which fields the events have, how often, what changed, and which rules need them. No value is in it.
func TestTheFieldsOfATypeAreShownWithoutValues(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	_, base := serve(t, operator.Options{API: (&stub{}).api(), Tokens: tokens})
	r := ask(t, "GET", base+"/observed-types/acme", "", bearer(texts[access.RoleViewer])...)
	require.Equal(t, 200, r.status, string(r.body))
	for _, value := range []string{"4242", "Ada", "enum", "example"} {
		require.NotContains(t, string(r.body), value)
	}
	var found httpapi.List[definitionapi.ObservedType]
	require.NoError(t, json.Unmarshal(r.body, &found))
	require.Len(t, found.Items, 1)
	one := found.Items[0]
	require.EqualValues(t, 20, one.Events)
	require.Equal(t, 1, one.Skipped)
	require.Equal(t, []shape.Field{
		{Path: "card", Kinds: []shape.Kind{shape.String}, Present: 1, Values: 1, ReadBy: []string{"entities[0].id"}},
		{Path: "name", Kinds: []shape.Kind{shape.String}, Present: 1, Values: 1, ReadBy: []string{"entities[0].state"}},
	}, one.Fields)
	require.JSONEq(t, `{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "thing.changed", "type": "object",
		"properties": {"card": {"type": "string"}, "name": {"type": "string"}}, "required": ["card", "name"]
	}`, string(one.Schema))
	require.Len(t, one.Changes, 1)
	require.Equal(t, "card", one.Changes[0].Path)
	require.True(t, one.Changes[0].Breaks())

	for path, status := range map[string]int{
		"/observed-types/nobody": 404, "/observed-types/acme?type=other": 404, "/observed-types/acme?events=0": 400,
		"/observed-types/acme?events=501": 400, "/observed-types/acme?type=thing.changed&events=500": 200,
	} {
		require.Equal(t, status, ask(t, "GET", base+path, "", bearer(texts[access.RoleViewer])...).status, path)
	}
}
