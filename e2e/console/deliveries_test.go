package console

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

// All deliveries are one list, with the API's filters, paged from the newest event to the oldest.
func TestDeliveriesAreFiltered(t *testing.T) {
	t.Parallel()
	r, other := newReceiver(t), newReceiver(t)
	ids := []string{r.send(t, "delivered"), r.send(t, "delivered")}
	other.send(t, "delivered")
	r.status.Store(http.StatusTeapot)
	failing := r.send(t, "retrying")
	b := newBrowser(t).as(access.RoleOperator).withoutScripts()
	require.Equal(t, 200, b.open("/console/events"))
	b.submit(`.top nav a[href="/console/deliveries"]`)
	require.Equal(t, "Deliveries · Holdfast", b.title())
	require.Equal(t, "Deliveries", b.text(".top nav a[aria-current]"))
	b.fill("#subscription", r.name)
	b.submit(".filters button")
	require.Equal(t, 3, b.count("tbody tr"))
	require.Zero(t, b.count(`tbody a[href="`+other.path()+`"]`))
	b.submit(chip("retrying"))
	require.Equal(t, 1, b.count("tbody tr"))
	require.Equal(t, 1, b.count(`tbody a[href="/console/events/`+failing+`#deliveries"]`))
	require.Contains(t, b.text("tbody"), "it says <b>thanks</b>", "what the endpoint answered")
	scripted := newBrowser(t).as(access.RoleOperator) // axe needs scripts
	scripted.open(b.path())
	scripted.requireAccessible()

	b.open("/console/deliveries?limit=1&status=delivered&destination=" + r.name)
	require.Equal(t, 1, b.count(`tbody a[href="/console/events/`+ids[1]+`#deliveries"]`))
	b.submit(".pager a[rel=next]")
	require.Equal(t, 1, b.count(`tbody a[href="/console/events/`+ids[0]+`#deliveries"]`))
	b.submit("tbody a")
	require.Contains(t, b.path(), "/console/events/"+ids[0])

	require.Equal(t, 200, b.open("/console/deliveries?subscription=nobody"))
	require.Contains(t, b.page(), "No subscription or destination has this name.")
	require.Equal(t, 400, b.open("/console/deliveries?status=nonsense"))
	viewer := newBrowser(t).as(access.RoleViewer)
	viewer.open("/console/deliveries?subscription=" + r.name)
	require.Zero(t, viewer.count("main tbody form"))
	require.NotContains(t, viewer.page(), "thanks", "a response can repeat what was sent")
}

// The list of events shows the state of each one's deliveries and filters by it; the whole row links to its event.
func TestEventsShowAndFilterTheirDeliveries(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	sent := r.send(t, "delivered")
	r.status.Store(http.StatusTeapot)
	failing := r.send(t, "retrying")
	b := newBrowser(t).as(access.RoleViewer).withoutScripts()
	b.open("/console/events?provider=homemade&limit=200")
	require.Contains(t, b.text("#e-"+sent), "delivered")
	require.Contains(t, b.text("#e-"+failing), "retrying")
	b.fill("#delivery_status", "retrying")
	b.submit(".filters button")
	require.Equal(t, 1, b.count("#e-"+failing))
	require.Zero(t, b.count("#e-"+sent))
	b.open("/console/events?delivery_status=delivered&limit=200")
	require.Equal(t, 1, b.count("#e-"+sent))
	require.Equal(t, 200, b.submit("#e-"+sent+" td:first-child"), "all of a row is the link")
	require.Equal(t, "/console/events/"+sent, b.path())
	require.Equal(t, 400, b.open("/console/events?delivery_status=nonsense"))
}
