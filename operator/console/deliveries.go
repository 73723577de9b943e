package console

import (
	"errors"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/console/frame"
)

const (
	deliveriesPath = "/console/deliveries"
	deliveries     = "Deliveries"
)

func (c *Console) deliveryRoutes() []route {
	if c.API.Outbound == nil {
		return nil
	}
	return []route{
		{"GET", deliveriesPath, c.listDeliveries},
		{"GET", cancelPath, c.confirmCancelWaiting},
		{"POST", cancelPath, c.cancelWaiting},
		{"GET", "/console/events/:id/send-all", c.confirmReplay},
		{"POST", "/console/events/:id/send-all", c.replayDeliveries},
	}
}

// deliveryList is the data of the page of deliveries.
type deliveryList struct {
	Filter   url.Values
	Statuses []delivery.Status
	// Subscriptions and Destinations are suggestions for the filters.
	Subscriptions, Destinations []string
	Rows                        []deliveryapi.DeliveryView
	Pager                       frame.Pager
	// Unknown reports that a filter names a subscription or a destination that doesn't exist.
	Unknown bool
}

// Cancel returns the confirmation page for canceling the waiting deliveries; "" if no filter is set.
func (l deliveryList) Cancel() string { return cancelPathOf(l.Filter) }

// listDeliveries shows the deliveries of all events, with the API's filters.
func (c *Console) listDeliveries(ctx *fiber.Ctx) error {
	list, err := c.API.Outbound.ListDeliveries(ctx)
	unknown := errors.Is(err, event.ErrNotFound)
	if err != nil && !unknown {
		return err
	}
	data := deliveryList{
		Filter: frame.QueryOf(ctx), Statuses: delivery.Statuses(), Rows: list.Items, Pager: c.Pager(ctx, list.Next), Unknown: unknown,
	}
	if data.Subscriptions, err = c.subscriptionNames(ctx); err != nil {
		return err
	}
	if data.Destinations, err = c.destinationNames(ctx); err != nil {
		return err
	}
	return c.Show(ctx, "deliveries", frame.Page{Title: deliveries, Section: deliveries, Data: data})
}

// maxNames bounds a field's suggestions; users type other names.
const maxNames = 200

func (c *Console) subscriptionNames(ctx *fiber.Ctx) (names []string, err error) {
	all, err := c.API.Outbound.Subscriptions.SubscriptionsAfter(ctx.UserContext(), "", maxNames)
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names, err
}

func (c *Console) destinationNames(ctx *fiber.Ctx) (names []string, err error) {
	all, err := c.API.Outbound.Destinations.DestinationsAfter(ctx.UserContext(), "", maxNames)
	for _, d := range all {
		names = append(names, d.Name)
	}
	return names, err
}
