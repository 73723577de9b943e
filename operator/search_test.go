package operator_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/httpapi"
)

// A text search reveals what is in bodies, so viewers can't use it. It continues where it stopped, however little it found, and
// so does a search by delivery status.
func TestASearchForAText(t *testing.T) {
	t.Parallel()
	behind := &stub{}
	tokens, texts := crowd(t)
	_, base := serve(t, operator.Options{API: behind.api(), Tokens: tokens})
	r := ask(t, "GET", base+"/events?text=4242", "", bearer(texts[access.RoleViewer])...)
	require.Equal(t, 403, r.status)
	require.Empty(t, behind.called())
	var page httpapi.List[api.EventView]
	r = ask(t, "GET", base+"/events?text=4242&type=a", "", bearer(texts[access.RoleOperator])...)
	require.NoError(t, json.Unmarshal(r.body, &page))
	require.Len(t, page.Items, 1)
	require.Equal(t, []string{"search", "statuses"}, behind.called())
	require.Equal(t, event.RecordQuery{Text: "4242", Type: "a", Limit: 51}, behind.events)
	ask(t, "GET", base+"/events?text=4242&cursor="+page.Next, "", bearer(texts[access.RoleOperator])...)
	require.Equal(t, someID, behind.events.Before)

	r = ask(t, "GET", base+"/events?delivery_status=failed", "", bearer(texts[access.RoleViewer])...)
	page = httpapi.List[api.EventView]{}
	require.NoError(t, json.Unmarshal(r.body, &page))
	require.Len(t, page.Items, 1)
	require.NotEmpty(t, page.Next, "a short page, and more to search")
}
