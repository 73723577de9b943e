package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// collector is an endpoint that records everything it is sent.
type collector struct {
	*httptest.Server

	mu  sync.Mutex
	got []string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.got = append(c.got, fmt.Sprint(r.Header))
	}))
	t.Cleanup(c.Close)
	return c
}

// all returns what has been sent since the last call.
func (c *collector) all() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := fmt.Sprint(c.got)
	c.got = nil
	return got
}

const asToken = `"signature":{"token":{"in":"header","name":"x-secret"}}`

// An integrator sends events to an own endpoint and reads what is sent there, but none of it is an environment variable, a
// stored secret or the value of another destination's header.
func TestAnIntegratorReadsNoSecret(t *testing.T) {
	t.Parallel()
	mine, theirs := newCollector(t), newCollector(t)
	o := newOperators(t)
	const secret = "hunter2-hunter2-hunter2"
	i := newInstallation(t, "CRM_SECRET="+secret, "OTHER_SECRET=other-"+secret,
		"HOLDFAST_OPERATOR_TOKENS="+o.entries, "HOLDFAST_DELIVERIES_ALLOWED_NETWORKS=127.0.0.0/8")
	n := i.start(t, "serve")
	admin, integrator, viewer := api{n.operator, o.tokens["admin"]}, api{n.operator, o.tokens["integrator"]}, api{n.operator, o.tokens["viewer"]}
	try := func(subscription string) (result struct{ OK bool }) {
		integrator.call(t, "POST", "/subscriptions/"+subscription+"/test", `{"provider":"stripe"}`, 200, &result)
		return result
	}

	integrator.call(t, "POST", "/destinations", fmt.Sprintf(
		`{"name":"spy","http":{"url":%q,"secrets":"DATABASE_URL",%s}}`, mine.URL, asToken), 403, nil)
	integrator.call(t, "POST", "/destinations", fmt.Sprintf(`{"name":"spy","http":{"url":%q,%s}}`, mine.URL, asToken), 201, nil)
	integrator.call(t, "POST", "/subscriptions", `{"name":"spy","to":"spy","events":{"providers":["stripe"]}}`, 201, nil)
	integrator.call(t, "PATCH", "/destinations/spy", `{"http":{"secrets":"CRM_SECRET"}}`, 403, nil)
	require.True(t, try("spy").OK)
	require.NotContains(t, mine.all(), "hunter2")

	admin.call(t, "POST", "/destinations", fmt.Sprintf(
		`{"name":"crm","http":{"url":%q,"secrets":"CRM_SECRET","headers":{"X-Key":"header-hunter2"},%s}}`, theirs.URL, asToken), 201, nil)
	admin.call(t, "POST", "/subscriptions", `{"name":"crm","to":"crm","events":{"providers":["stripe"]}}`, 201, nil)
	require.True(t, try("crm").OK)
	sent := theirs.all()
	require.Contains(t, sent, secret)
	require.Contains(t, sent, "header-hunter2")
	for _, change := range []string{
		fmt.Sprintf(`{"http":{"url":%q}}`, mine.URL), `{"http":{"secrets":"OTHER_SECRET"}}`,
		`{"http":{"signature":{"token":{"in":"header","name":"x-other"}}}}`,
	} {
		integrator.call(t, "PATCH", "/destinations/crm", change, 403, nil)
	}
	integrator.call(t, "PATCH", "/destinations/crm", `{"timeout":"20s"}`, 200, nil)
	require.True(t, try("crm").OK)
	require.Contains(t, theirs.all(), "header-hunter2", "the header stays")
	for _, path := range []string{"/destinations", "/destinations/crm", "/audit"} {
		for _, who := range []api{admin, integrator} {
			require.NotContains(t, string(who.call(t, "GET", path, "", 200, nil).body), "hunter2", path)
		}
	}
	require.NotContains(t, string(viewer.call(t, "GET", "/destinations/crm", "", 200, nil).body), "hunter2")

	admin.call(t, "POST", "/destinations", fmt.Sprintf(`{"name":"own","http":{"url":%q,"headers":{"X-Key":"header-hunter2"}},
		"secret":"stored-hunter2-hunter2"}`, theirs.URL), 201, nil)
	for _, change := range []string{fmt.Sprintf(`{"http":{"url":%q}}`, mine.URL), `{"http":{` + asToken + `}}`} {
		refused := integrator.call(t, "PATCH", "/destinations/own", change, 400, nil)
		require.NotContains(t, string(refused.body), "hunter2")
	}

	for _, pasted := range []string{"whsec_aHVudGVyMmh1bnRlcjJodW50ZXIy", "hunter2", "HUNTER2HUNTER2HUNTER2"} {
		refused := admin.call(t, "PATCH", "/destinations/crm", `{"http":{"secrets":"`+pasted+`"}}`, 400, nil)
		require.NotContains(t, string(refused.body), pasted)
	}
	for _, ours := range []string{"DATABASE_URL", "HOLDFAST_OPERATOR_TOKENS", "TEMPORAL_API_KEY", "PGPASSWORD"} {
		admin.call(t, "PATCH", "/destinations/crm", `{"http":{"secrets":"`+ours+`"}}`, 400, nil)
	}
	var names []string
	i.query(t, `SELECT array_agg(name) FROM destination_variables`, nil, &names)
	require.Equal(t, []string{"CRM_SECRET"}, names)
	var rows json.RawMessage
	i.query(t, `SELECT json_agg(a) FROM audit_log AS a`, nil, &rows)
	require.NotContains(t, string(rows), "hunter2")
}
