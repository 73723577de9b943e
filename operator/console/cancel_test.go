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
	"holdfast/operator/api"
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

// What was sent can't be taken back: a resend of one delivery asks first, and keeps the reason.
func TestAResendAsksFirst(t *testing.T) {
	t.Parallel()
	const id = "01a2b3c4-d5e6-7f80-91a2-b3c4d5e6f708"
	behind := newDestinations()
	behind.deliveries = []delivery.Delivery{{EventID: id, SubscriptionID: 7, Subscription: "crm"}}
	shown := behind.shown()
	shown.API.Events = struct{ api.EventStore }{}
	s := startShowing(t, shown, "", true)
	status, page := s.look(t, access.RoleOperator, "/console/events/"+id+"/resend?subscription=7")
	require.Equal(t, 200, status, page)
	require.Contains(t, page, "This can&#39;t be undone.")
	require.Empty(t, behind.sent)
	action := html.UnescapeString(confirmAction.FindStringSubmatch(page)[1])
	status, _, page = s.send(t, access.RoleOperator, action, url.Values{"subscription": {"7"}, "reason": {"INC-42"}})
	require.Equal(t, 303, status, page)
	require.Equal(t, "INC-42", behind.did[0].Reason)
	status, _ = s.look(t, access.RoleOperator, "/console/events/"+id+"/resend?subscription=8")
	require.Equal(t, 404, status)
}
