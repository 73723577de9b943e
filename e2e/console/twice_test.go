package console

import (
	"net/url"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

func number(id int64) string { return strconv.FormatInt(id, 10) }

// A form sent twice, by a double click or a reload, is done once or refused with a reason; it never fails or does something
// else.
func TestAFormSentTwiceActsOnce(t *testing.T) {
	t.Parallel()
	kind := uniqueID("twice")
	ids := bury(t, kind, 4)
	letter := func(n int) string { return "/console/dead-letters/" + ids[n] }
	r := newReceiver(t)
	sent := r.send(t, "delivered")
	receiver, event := r.path(), "/console/events/"+sent
	var delivery struct {
		Items []struct {
			SubscriptionID int64  `json:"subscription_id"`
			Subscription   string `json:"subscription"`
		}
	}
	holdfast.api(t, "GET", "/deliveries?event_id="+sent, &delivery)
	subscription := ""
	for _, d := range delivery.Items {
		if d.Subscription == r.name {
			subscription = number(d.SubscriptionID)
		}
	}
	require.NotEmpty(t, subscription)
	_, plan := holdfast.look(t, access.RoleAdmin, "/console/dead-letters/replay?state=open&type="+kind)
	require.Contains(t, plan, `name="count" value="4"`)
	const done, refused = 303, 409
	for _, one := range []struct {
		name, path string
		form       url.Values
		first      int
		second     []int
	}{
		{"discard", letter(0) + "/discard", url.Values{"reason": {"x"}}, done, []int{refused}},
		{"reopen", letter(0) + "/reopen", url.Values{}, done, []int{refused}},
		{"discard the selected", "/console/dead-letters/selected", url.Values{"do": {"discard"}, "id": {ids[1]}, "reason": {"x"}}, done, []int{done}},
		{"remove", letter(1) + "/delete", url.Values{}, done, []int{404}},
		{"clean up", "/console/dead-letters/cleanup", url.Values{"older_than": {"1h"}, "provider": {"nobody"}}, done, []int{done}},
		{"replay", "/console/dead-letters/replay?state=open&type=" + kind, url.Values{"count": {"3"}, "rate": {"1000"}}, done, []int{done, 200}},
		{"resend", event + "/resend", url.Values{"subscription": {subscription}}, done, []int{done, refused}},
		{"pause", receiver + "/pause", url.Values{}, done, []int{done}},
		{"disable", receiver + "/disable", url.Values{}, done, []int{done}},
		{"resume", receiver + "/resume", url.Values{}, done, []int{done}},
		{"rate", receiver + "/rate", url.Values{"rate": {"7"}}, done, []int{done}},
		{"no rate", receiver + "/rate", url.Values{"rate": {""}}, done, []int{done}},
		{"resend", "/console/operations/resend", url.Values{"subscription": {r.name}, "since": {"1h"}}, done, []int{done, refused}},
		{"rebuild", "/console/operations/rebuild", url.Values{"provider": {"broken"}, "dry_run": {"true"}}, done, []int{done, refused}},
		{"log out", "/console/logout", url.Values{}, done, []int{done}},
	} {
		first, _, page := holdfast.form(t, access.RoleAdmin, one.path, one.form)
		require.Equal(t, one.first, first, "%s: %s", one.name, page)
		second, _, page := holdfast.form(t, access.RoleAdmin, one.path, one.form)
		require.Contains(t, one.second, second, "%s: %s", one.name, page)
	}
}

// A secret rotated twice by a double click still signs with the one that the endpoint has.
func TestASecretThatIsRotatedTwiceKeepsTheOneInUse(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	var before, after struct {
		Secrets []struct{ Fingerprint string }
	}
	holdfast.api(t, "GET", "/destinations/"+r.name, &before)
	require.Len(t, before.Secrets, 1)
	for range 2 {
		status, _, _ := holdfast.form(t, access.RoleIntegrator, r.path()+"/rotate", url.Values{})
		require.Equal(t, 200, status)
	}
	holdfast.api(t, "GET", "/destinations/"+r.name, &after)
	require.Contains(t, after.Secrets, before.Secrets[0])
}
