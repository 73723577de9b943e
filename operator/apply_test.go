package operator_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/delivery/declared"
	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/operator/api/deliveryapi"
)

// A declaration is planned, and applied in an order that can be repeated. What it doesn't name stays, or is deleted.
func TestADeclarationIsApplied(t *testing.T) {
	t.Parallel()
	behind := &stub{}
	_, base := serve(t, operator.Options{API: behind.api()})
	const given = `"destinations":{"erp":{"http":{"url":"https://erp.example.com"}}},"subscriptions":{"orders":{"to":"erp"}}`
	apply := func(content string) (done deliveryapi.Applied) {
		r := ask(t, "POST", base+"/subscriptions/apply", content)
		require.Equal(t, 200, r.status, string(r.body))
		require.NoError(t, json.Unmarshal(r.body, &done))
		return done
	}
	ops := func(p declared.Plan) (all []string) {
		for _, c := range p.Changes {
			all = append(all, string(c.Op)+" "+c.Kind+" "+c.Name)
		}
		return all
	}
	plan := apply(`{"dry_run":true,` + given + `}`)
	require.Equal(t, []string{"create destination erp", "create subscription orders"}, ops(plan.Plan))
	require.Equal(t, []string{"subscription customers", "destination crm"}, plan.Left)
	require.NotContains(t, strings.Join(behind.called(), " "), "apply")

	done := apply(`{"prune":true,"reason":"release","secrets":{"erp":"theirs-0123456789abcdef"},` + given + `}`)
	require.Equal(t, []string{
		"create destination erp", "create subscription orders", "delete subscription customers", "delete destination crm",
	}, ops(done.Plan))
	require.Equal(t, "theirs-0123456789abcdef", done.Secrets["erp"])
	require.Equal(t, "release", behind.actor.Reason)
	require.EqualValues(t, 412, done.Canceled())
	require.Contains(t, behind.called(), "delete subscriptions customers")
	require.Contains(t, behind.called(), "delete destinations crm")
	require.True(t, behind.subscription.Active, "unless the declaration says otherwise")
}

// Every mistake in a declaration is listed, and nothing is changed.
func TestMistakesInADeclaration(t *testing.T) {
	t.Parallel()
	behind := &stub{}
	tokens, texts := crowd(t)
	_, base := serve(t, operator.Options{API: behind.api(), Tokens: tokens})
	integrator := bearer(texts[access.RoleIntegrator])
	r := ask(t, "POST", base+"/subscriptions/apply",
		`{"destinations":{"erp":{"http":{"url":"ftp://x"}}},"subscriptions":{"a":{"to":"nowhere"},"b":{"to":"erp"}}}`, integrator...)
	require.Equal(t, 400, r.status)
	var refused struct {
		Error struct{ Problems []declared.Problem }
	}
	require.NoError(t, json.Unmarshal(r.body, &refused))
	require.Equal(t, []declared.Problem{
		{In: "destinations.erp", Field: "http.url", Reason: "http.url must be a URL with http or https and a host"},
		{In: "subscriptions.a", Field: "to", Reason: `to: unknown destination "nowhere"`},
	}, refused.Error.Problems)
	for content, says := range map[string]string{
		`{"prune":true}`: "nothing is declared", `{"subscriptions":{"a":{"id":7}}}`: "subscriptions.a: remove id",
		`{"subscriptions":{"a":{"too":"crm"}}}`: "too",
	} {
		r := ask(t, "POST", base+"/subscriptions/apply", content, integrator...)
		require.Equal(t, 400, r.status, content)
		require.Contains(t, string(r.body), says)
	}
	require.NotContains(t, strings.Join(behind.called(), " "), "apply")
	r = ask(t, "POST", base+"/subscriptions/apply", `{}`, bearer(texts[access.RoleOperator])...)
	require.Equal(t, 403, r.status)
}
