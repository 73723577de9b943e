package console_test

import (
	"html"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/operator/access"
)

var confirmAction = regexp.MustCompile(`<form class="confirm" method="post" action="([^"]+)"`)

// Pending deliveries are canceled by the filters of the list: the confirmation shows the count, and no more than that are
// canceled.
func TestPendingDeliveriesAreCanceledAsCounted(t *testing.T) {
	t.Parallel()
	behind := newDestinations()
	behind.all["crm"] = delivery.Destination{ID: 3, Name: "crm", HTTP: &delivery.HTTP{URL: "https://crm.example.com"}}
	s := startShowing(t, behind.shown(), "", true)
	const path = "/console/deliveries/cancel"
	status, _ := s.look(t, access.RoleOperator, path)
	require.Equal(t, 400, status, "what everybody waits for is not canceled at once")
	status, _ = s.look(t, access.RoleOperator, path+"?destination=crm&status=delivered")
	require.Equal(t, 400, status)
	status, _ = s.look(t, access.RoleOperator, path+"?destination=crm")
	require.Equal(t, 303, status, "nothing waits")

	behind.waiting = 1234
	status, page := s.look(t, access.RoleOperator, path+"?destination=crm&status=retrying&since=2h")
	require.Equal(t, 200, status, page)
	require.Contains(t, page, "<button class=\"danger\">Cancel 1\u202f234 deliveries</button>")
	require.Contains(t, page, `name="count" value="1234"`)
	action := html.UnescapeString(confirmAction.FindStringSubmatch(page)[1])
	behind.waiting = 5000
	status, location, _ := s.send(t, access.RoleOperator, action, url.Values{"count": {"1234"}, "reason": {"INC-42"}})
	require.Equal(t, 303, status)
	require.Contains(t, location, "/console/deliveries?destination=crm")
	q := behind.canceled[0]
	require.Equal(t, []any{int64(3), delivery.Retrying}, []any{q.DestinationID, q.Status})
	require.WithinDuration(t, time.Now(), q.Until, time.Minute)
	require.WithinDuration(t, time.Now().Add(-2*time.Hour), q.Since, time.Minute)
	require.Equal(t, "INC-42", behind.did[0].Reason)

	behind.waiting = 1000
	v := newVisitor(t)
	v.logIn(s, s.tokens[access.RoleOperator])
	_, home := v.get(s.url + "/console")
	form := proofIn(t, home)
	form.Set("count", "1234")
	v.ask("POST", s.url+action, form)
	_, page = v.get(s.url + "/console/deliveries?destination=crm")
	require.Contains(t, page, "1000 of the 1234 deliveries were canceled")

	status, _ = s.look(t, access.RoleViewer, path+"?destination=crm")
	require.Equal(t, 403, status)
	status, _, _ = s.send(t, access.RoleViewer, action, url.Values{"count": {"1234"}})
	require.Equal(t, 403, status)
	require.Len(t, behind.canceled, 2)
}
