package console

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/console/frame"
)

// A destination's error is shown with its state: at the end of the row, a narrow window hides it.
func TestADestinationShowsItsFailureNextToItsState(t *testing.T) {
	t.Parallel()
	since := time.Now()
	row := destinationRow{DestinationView: deliveryapi.DestinationView{
		Destination: delivery.Destination{Name: "billing"},
		Condition:   delivery.Condition{State: delivery.DestinationReady, Failure: "http_503", FailingSince: &since, Waiting: 12345},
	}}
	v := frame.View{
		Page: frame.Page{Data: destinationList{Rows: []destinationRow{row}, All: 1}}, Caller: access.Caller{Role: access.RoleViewer},
	}
	drawn, err := New(Options{API: &api.API{}}).Fragment("destinations", "layout.html", v)
	require.NoError(t, err)
	trouble, waiting := bytes.Index(drawn, []byte("<code>http_503</code>")), bytes.Index(drawn, []byte(frame.Number(12345)))
	require.Positive(t, trouble)
	require.Less(t, trouble, waiting)
	require.Equal(t, bytes.Count(drawn, []byte("<th scope=\"col\"")), bytes.Count(drawn, []byte("<td"))+1)
}

// subscriptions has one subscription; only its lookup works.
type subscriptions struct {
	deliveryapi.SubscriptionStore

	one delivery.Subscription
}

func (s subscriptions) Subscription(_ context.Context, name string) (delivery.Subscription, error) {
	if name != s.one.Name {
		return delivery.Subscription{}, event.ErrNotFound
	}
	return s.one, nil
}

// The page of a resend has its subscription but not the destination, so the link resolves it.
func TestAResendLeadsToItsReceiver(t *testing.T) {
	t.Parallel()
	c := New(Options{API: &api.API{Outbound: &deliveryapi.API{
		Subscriptions: subscriptions{one: delivery.Subscription{Name: "paid orders", To: "billing & co"}},
	}}})
	app := fiber.New()
	app.Get("/console/destinations", c.listDestinations)
	link := ofResend(operation.Resend{Subscription: "paid orders"}).Links[0].To
	for link, wanted := range map[string]string{link: "303 /console/destinations/billing%20&%20co", link + "x": "500 "} {
		res, err := app.Test(httptest.NewRequest(http.MethodGet, link, nil))
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, wanted, res.Status[:3]+" "+res.Header.Get("Location"))
	}
}
