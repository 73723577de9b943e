package operator_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/operator/api/eventtypeapi"
	"holdfast/operator/httpapi"
)

const newType = `"event_types":{"order.paid":{"check":"refuse","versions":{"1":{"schema":{"required":["id"]},"example":{"id":1}}}}}`

// Types are planned, applied and deleted; what is equal, whatever its spaces, isn't written.
func TestEventTypesAreApplied(t *testing.T) {
	t.Parallel()
	behind := &stub{}
	_, base := serve(t, operator.Options{API: behind.api()})
	apply := func(content string) (done eventtypeapi.AppliedEventTypes) {
		r := ask(t, "POST", base+"/event-types/apply", content)
		require.Equal(t, 200, r.status, string(r.body))
		require.NoError(t, json.Unmarshal(r.body, &done))
		return done
	}
	plan := apply(`{"dry_run":true,` + newType + `}`)
	require.Len(t, plan.Changes, 1)
	require.Equal(t, "versions.1.schema", plan.Changes[0].Fields[2].Field)
	require.JSONEq(t, `{"required":["id"]}`, string(plan.Changes[0].Fields[2].New))
	require.Equal(t, []string{"event type crm"}, plan.Left)
	require.NotContains(t, strings.Join(behind.called(), " "), "apply")

	apply(`{"prune":true,"reason":"release",` + newType + `}`)
	require.Contains(t, behind.called(), "apply event type order.paid")
	require.Contains(t, behind.called(), "delete event type crm")
	require.Equal(t, "release", behind.actor.Reason)

	same := apply(`{"event_types":{"crm":{"description":"A contact changed.","check":"warn","versions":{
		"1":{"schema":{"type": "object"},"example":{"id": 1},"deprecated":true},"2":{"schema":{"required":["id"]}}}}}}`)
	require.Empty(t, same.Changes)
	require.Equal(t, 1, same.Same)
	changed := apply(`{"event_types":{"crm":{"description":"A contact changed.","check":"warn","versions":{
		"1":{"schema":{"type": "object", "properties": {"a": {}}},"example":{"id": 1},"deprecated":true},"2":{"schema":{"required":["id"]}}}}}}`)
	require.Len(t, changed.Changes[0].Fields, 1, "an empty schema within a schema is a difference")
}

func TestMistakesInEventTypes(t *testing.T) {
	t.Parallel()
	behind := &stub{}
	_, base := serve(t, operator.Options{API: behind.api()})
	r := ask(t, "POST", base+"/event-types/apply", `{"event_types":{
		"a":{"versions":{"1":{"schema":{"type":"strng"}}}},
		"b":{"name":"c","versions":{"1":{"schema":{"required":["id"]},"example":{}}}}}}`)
	require.Equal(t, 400, r.status)
	for _, part := range []string{"event_types.a", "versions.1.schema", "event_types.b", "remove name", "/id: required"} {
		require.Contains(t, string(r.body), part)
	}
	require.Equal(t, 400, ask(t, "POST", base+"/event-types/apply", `{"event_types":{},"prune":true}`).status)
	require.Equal(t, 400, ask(t, "POST", base+"/event-types/apply", `{"event_types":{"a":{"versions":{},"schema":1}}}`).status)
	require.NotContains(t, strings.Join(behind.called(), " "), "apply")
}

func TestWhoMayDeclareEventTypes(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	_, base := serve(t, operator.Options{API: (&stub{noSuch: "new"}).api(), Tokens: tokens})
	for role, status := range map[access.Role]int{access.RoleViewer: 403, access.RoleOperator: 403, access.RoleIntegrator: 200} {
		require.Equal(t, 200, ask(t, "GET", base+"/event-types/crm", "", bearer(texts[role])...).status)
		require.Equal(t, status, ask(t, "POST", base+"/event-types/apply", `{`+newType+`}`, bearer(texts[role])...).status, role)
		require.Equal(t, status, ask(t, "DELETE", base+"/event-types/crm", "", bearer(texts[role])...).status, role)
	}
	var list httpapi.List[eventtypeapi.EventTypeSummary]
	r := ask(t, "GET", base+"/event-types", "", bearer(texts[access.RoleViewer])...)
	require.NoError(t, json.Unmarshal(r.body, &list))
	require.Equal(t, []eventtypeapi.EventTypeSummary{{
		Name: "crm", Description: "A contact changed.", Check: "warn", Versions: []string{"1", "2"}, Deprecated: []string{"1"},
	}}, list.Items)
	require.Equal(t, 404, ask(t, "GET", base+"/event-types/new", "", bearer(texts[access.RoleViewer])...).status)
}
