package client_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/fakeapi"
	"holdfast/providers/client"
	"holdfast/providers/recovery"
)

// logged returns the one event of a log of deliveries, and a client.
func logged(t *testing.T, name string, e fakeapi.Event) (recovery.Item, *client.Client, *fakeapi.Server) {
	t.Helper()
	fake := fakeapi.New(fakeapi.Styles()[name])
	fake.Add(e)
	c := client.New(serve(t, fake), secrets)
	list := providerOf(t, name).Recovery()
	w, err := list.Begin(start, start.AddDate(0, 0, 1), target(name))
	require.NoError(t, err)
	page, err := c.Page(t.Context(), list, w)
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	return page.Items[0], c, fake
}

// The provider sends an event again whose number is greater than a float64 can hold, and answers with any 2xx.
func TestAProviderSendsAnEventAgain(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"github", "gitlab"} {
		item, c, fake := logged(t, name, fakeapi.Event{ID: "3a427872-00df", Type: "push", Time: start})
		list := providerOf(t, name).Recovery()
		require.True(t, list.FollowUp.Redelivers)
		require.False(t, item.IsDelivered)
		require.NoError(t, c.Redeliver(t.Context(), list.FollowUp, target(name), item.Path))
		require.Equal(t, []string{"3a427872-00df"}, fake.Asked())
	}
}

// All attempts share a delivery ID, and an attempt with a 2xx is a success.
func TestALogKnowsItsDeliveries(t *testing.T) {
	t.Parallel()
	item, _, _ := logged(t, "github", fakeapi.Event{ID: "one", Time: start, IsDelivered: true})
	require.Equal(t, "one", item.Delivery)
	require.True(t, item.IsDelivered)
	item, _, _ = logged(t, "resend", fakeapi.Event{ID: "msg_1", Type: "email.sent", Time: start, IsDelivered: true})
	require.True(t, item.IsDelivered)
}

// The body of a webhook is text in the answer, as it was sent, or JSON.
func TestADetailHasTheBody(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"easypost": `{"id": "evt_1", "description": "tracker.created", "result": {"id": "trk_1", "object": "Tracker"}}`,
		"resend":   `{"created_at":"2026-05-04T12:00:00.000Z","data":{"email_id":"e1"},"type":"tracker.created"}`,
	} {
		item, c, _ := logged(t, name, fakeapi.Event{ID: "evt_1", Type: "tracker.created", Time: start})
		list := providerOf(t, name).Recovery()
		require.False(t, list.FollowUp.Redelivers)
		body, err := c.Detail(t.Context(), list.FollowUp, target(name), item.Path)
		require.NoError(t, err)
		require.Equal(t, want, string(body))
		events, err := providerOf(t, name).SplitStored(item.Request)
		require.NoError(t, err)
		require.Equal(t, "evt_1", events[0].Key, "the key is known without the body")
		require.Equal(t, "tracker.created", events[0].Type)
	}
}

// The body of one event may be larger than a page.
func TestADetailMayBeLarge(t *testing.T) {
	t.Parallel()
	body := `{"text":"` + strings.Repeat("x", 25<<20) + `"}`
	f := providerOf(t, "resend").Recovery().FollowUp
	detail := func(size int) error {
		answer, err := json.Marshal(map[string]any{"payload": map[string]string{"text": strings.Repeat("x", size)}})
		require.NoError(t, err)
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(answer) })
		got, err := client.New(serve(t, handler), secrets).Detail(t.Context(), f, "", "/x")
		if err == nil {
			require.Len(t, got, len(body))
		}
		return err
	}
	require.NoError(t, detail(25<<20))
	failed := failureOf(t, detail(recovery.MaxDetail))
	require.Equal(t, recovery.KindUnreadable, failed.Kind)
	require.Contains(t, failed.Text, "larger than 33554432 bytes")
}

// Nothing of an item can change more than its segment of the path.
func TestAnItemStaysInItsSegment(t *testing.T) {
	t.Parallel()
	list := providerOf(t, "resend").Recovery()
	for _, id := range []string{"", "..", ".", "a/b", "a?b=c", "a#b", "a%2fb", "a b", "ä"} {
		text, err := json.Marshal(map[string]any{"id": id, "created_at": "2026-05-04T12:00:00Z", "status": "failed"})
		require.NoError(t, err)
		item, err := list.Item(text)
		require.NoError(t, err)
		require.Empty(t, item.Path, "%q", id)
	}
}

// Failures of a follow-up say what to do, and repeat nothing of the answer. A redirect isn't followed.
func TestFailuresOfFollowUps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		kind   recovery.Kind
		want   string
	}{
		{403, "", recovery.KindUnauthorized, "POST api.github.com/{target}/deliveries/{item.id}/attempts: 403, the credential is " +
			"refused: check that GITHUB_API_TOKEN may do this"},
		{404, "", recovery.KindRefused, "404"}, {429, "", recovery.KindLimited, "429"}, {500, "", recovery.KindUnavailable, "500"},
		{302, "", recovery.KindRefused, "a redirect"},
	} {
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("location", "https://other.example.com/")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, "secret of the answer")
		})
		f := providerOf(t, "github").Recovery().FollowUp
		failed := failureOf(t, client.New(serve(t, handler), secrets).Redeliver(t.Context(), f, target("github"), "/x/1/attempts"))
		require.Equal(t, c.kind, failed.Kind)
		require.Contains(t, failed.Text, c.want)
	}
	for _, body := range []string{`{}`, `{"payloads": []}`, `{"payloads": [{"request_body": null}]}`, `{"payloads": [`, ``} {
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		f := providerOf(t, "easypost").Recovery().FollowUp
		_, err := client.New(serve(t, handler), secrets).Detail(t.Context(), f, "", "/v2/events/evt_1/payloads")
		require.Equal(t, recovery.KindUnreadable, failureOf(t, err).Kind, "%s", body)
	}
}
