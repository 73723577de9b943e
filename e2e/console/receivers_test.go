package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

// An endpoint of the test that gets the events of one type.
type receiver struct {
	name, eventType string
	status          atomic.Int64
	got             atomic.Int64
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{name: strings.ReplaceAll(uniqueID("crm"), "_", "-"), eventType: uniqueID("type")}
	r.status.Store(http.StatusOK)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		r.got.Add(1)
		w.WriteHeader(int(r.status.Load()))
		_, _ = w.Write([]byte("it says <b>thanks</b>"))
	}))
	t.Cleanup(server.Close)
	holdfast.run(t, "subscription", "create", r.name, "--url", server.URL+"/hooks", "--types", r.eventType)
	return r
}

// send sends an event to it, and waits until its delivery has the status.
func (r *receiver) send(t *testing.T, status string) (eventID string) {
	t.Helper()
	eventID = holdfast.send(t, uniqueID("evt"), fmt.Sprintf(`{"type":%q}`, r.eventType))
	r.await(t, eventID, status)
	return eventID
}

func (r *receiver) await(t *testing.T, eventID, status string) {
	t.Helper()
	holdfast.awaitEvent(t, eventID, "delivery "+status, func(e eventOf) bool {
		for _, d := range e.Deliveries { // dev's sample endpoints get it as well
			if d.Subscription == r.name {
				return d.Status == status
			}
		}
		return false
	})
}

func (r *receiver) path() string { return "/console/destinations/" + r.name }

// An operator pauses a destination and resumes it; events that came meanwhile are on its page, and nothing is lost.
func TestAReceiverIsPausedAndResumed(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	r.send(t, "delivered")
	for name, b := range map[string]*browser{"with scripts": newBrowser(t), "without": newBrowser(t).withoutScripts()} {
		b.as(access.RoleOperator)
		eventually(t, "its attempts are counted", func() error { // they are stored every few seconds
			require.Equal(t, 200, b.open("/console/destinations?name="+r.name))
			if !strings.Contains(b.page(), "100.0 %") {
				return errors.New(b.page())
			}
			return nil
		})
		require.Equal(t, "Destinations · Holdfast", b.title(), name)
		b.submit(`th a[href="` + r.path() + `"]`)
		require.Equal(t, r.name+" · Holdfast", b.title())
		require.Contains(t, b.page(), r.eventType)

		b.submit(`a[href="` + r.path() + `/pause"]`)
		require.Contains(t, b.page(), "Nothing is sent until it is resumed")
		b.fill("#reason", "they deploy")
		b.submit("form.confirm button")
		require.Equal(t, r.path(), b.path(), "one lands on the result")
		require.Contains(t, b.page(), "Paused.")
		require.Contains(t, b.page(), "by the-operator: they deploy")

		waiting := holdfast.send(t, uniqueID("evt"), fmt.Sprintf(`{"type":%q}`, r.eventType))
		r.await(t, waiting, "pending")
		b.open("/console/destinations?only=paused&name=" + r.name)
		require.Contains(t, b.page(), r.name)
		b.open(r.path())
		require.Contains(t, b.text("section[aria-labelledby=waiting]"), "paused")
		require.Equal(t, 1, b.count(`section[aria-labelledby=waiting] a[href="/console/events/`+waiting+`#deliveries"]`))

		b.submit(`a[href="` + r.path() + `/resume"]`)
		require.Contains(t, b.page(), "no limit")
		b.submit("form.confirm button")
		require.Contains(t, b.page(), "Resumed")
		r.await(t, waiting, "delivered")
	}
}

// A test event is sent now, and its answer is shown verbatim; checking the subscription sends nothing.
func TestAReceiverIsTested(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	id := r.send(t, "delivered")
	b := newBrowser(t).as(access.RoleOperator)
	try := func(event string) {
		b.open(r.path())
		if event != "" {
			b.fill("section[aria-labelledby=subscriptions] input[name=event]", event)
		}
		b.submit("section[aria-labelledby=subscriptions] form button")
	}
	try("")
	require.Contains(t, b.page(), "no definition has a sample of such an event")
	try(id)
	page := b.page()
	require.Contains(t, page, "The destination accepted it", page)
	require.Contains(t, page, "it says <b>thanks</b>")
	require.EqualValues(t, 2, r.got.Load())
	b.requireAccessible()
	r.status.Store(http.StatusTeapot)
	try(id)
	require.Contains(t, b.page(), "didn't accept it")
	b.open(r.path())
	b.submit("section[aria-labelledby=subscriptions] td a")
	require.Contains(t, b.page(), "Nothing was sent.")
	b.requireAccessible()
	require.EqualValues(t, 3, r.got.Load())
}

// A single delivery is resent, or canceled, from the page of its destination.
func TestADeliveryIsSentAgainFromItsReceiver(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	id := r.send(t, "delivered")
	b := newBrowser(t).as(access.RoleOperator)
	b.open(r.path())
	require.Contains(t, b.text("section[aria-labelledby=ended]"), "it says <b>thanks</b>")
	b.submit("section[aria-labelledby=ended] form button")
	b.submit(".confirm button")
	require.Equal(t, "/console/events/"+id, b.path())
	eventually(t, "the second delivery", func() error {
		if n := r.got.Load(); n != 2 {
			return fmt.Errorf("it got %d", n)
		}
		return nil
	})
	holdfast.run(t, "destination", "pause", r.name)
	waiting := holdfast.send(t, uniqueID("evt"), fmt.Sprintf(`{"type":%q}`, r.eventType))
	r.await(t, waiting, "pending")
	b.open(r.path())
	b.submit("section[aria-labelledby=waiting] td.actions a")
	b.submit("form.confirm button")
	require.Contains(t, b.page(), "Canceled the delivery to "+r.name)
	r.await(t, waiting, "canceled")
}

// Only users who may change a destination can set its rate or rotate its secret, which is shown once.
func TestASecretIsRotatedAndShownOnce(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	viewer := newBrowser(t).as(access.RoleViewer)
	viewer.open(r.path())
	require.Zero(t, viewer.count("main form"), "a viewer changes nothing")
	require.Zero(t, viewer.count(".heading .actions a"))
	require.NotContains(t, viewer.page(), "/hooks", "what stands behind the host can be a secret")
	require.Equal(t, 403, viewer.open(r.path()+"/pause"))

	operator := newBrowser(t).as(access.RoleOperator)
	operator.open(r.path())
	require.Zero(t, operator.count(`a[href$="/rotate"]`))
	require.Equal(t, 403, operator.open(r.path()+"/rotate"))

	b := newBrowser(t).as(access.RoleIntegrator)
	b.open(r.path())
	b.fill("#rate", "50")
	b.submit("form[action$='/rate'] button")
	require.Contains(t, b.page(), "Limited to 50 in 1s until you remove the limit.")
	require.Contains(t, b.page(), "and no deliveries are pending")
	b.submit("#unbound button")
	require.Contains(t, b.page(), "Rate limit removed.")
	require.Zero(t, b.count("#unbound"))
	b.fill("#rate", "-1")
	require.Equal(t, 400, b.submit("form[action$='/rate'] button"))
	b.open(r.path() + "/rotate")
	b.requireAccessible()
	b.submit("form.confirm button")
	rotated := b.text("#secret")
	require.Regexp(t, `^whsec_\S{20,}$`, rotated)
	b.requireAccessible()
	b.submit("main p:not(.help) a")
	require.Equal(t, r.path(), b.path())
	require.NotContains(t, b.page(), rotated)
	require.Contains(t, b.page(), "until", "the one before has an end")
}

func TestReceiversAreAccessible(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	r.send(t, "delivered")
	r.status.Store(http.StatusServiceUnavailable)
	r.send(t, "retrying")
	b := newBrowser(t).as(access.RoleAdmin)
	for _, path := range []string{"/console/destinations", "/console/destinations?only=failing", "/console/destinations?name=nobody", r.path(), r.path() + "/disable"} {
		require.Equal(t, 200, b.open(path), path)
		b.requireAccessible()
	}
	require.Equal(t, 400, b.open("/console/destinations?only=nonsense"))
	require.Equal(t, 404, b.open("/console/destinations/nobody"))
	require.Equal(t, 404, b.open(r.path()+"/explode"))
}
