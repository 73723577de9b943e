package e2e

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	operatorapi "holdfast/operator/api"
	"holdfast/operator/httpapi"
)

// IDs that a shell, a browser or gRPC would take for something else are IDs: in commands, in the API and in links.
func TestIDsThatLookLikeSomethingElse(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	customers := []string{"-1001557", ".", "..", "bücher"}
	for _, id := range customers {
		n.send(t, customerUpdated(uniqueID("evt"), id, "Ada", time.Now()))
	}
	i.awaitCount(t, time.Minute, len(customers), processedEvents)
	a := api{url: n.operator}
	for _, id := range customers {
		var shown operatorapi.EntityView
		a.call(t, "GET", "/entities/stripe/customer/"+httpapi.PathSegment(id), "", 200, &shown)
		require.Equal(t, id, shown.ExternalID)
		a.call(t, "GET", "/entities/stripe/customer/"+httpapi.PathSegment(id)+"/timeline", "", 200, nil)
		out, err := i.run(t, "entity", "show", "stripe", "customer", id, "--json")
		require.NoError(t, err, out)
		require.Contains(t, out, `"Ada"`)
	}
	for _, id := range []string{"stripe:ü", "stripe:заказ 1", "stripe:a\nb"} {
		require.Equal(t, "no_such_thing", a.call(t, "GET", "/events/"+url.PathEscape(id), "", 404, nil).Error.Code, id)
	}
	out, err := i.run(t, "event", "show", "stripe:ü")
	require.Error(t, err)
	require.Contains(t, out, "no event matches")
	require.NotContains(t, out, "unavailable")
}
