package console

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/operator/api"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
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
		{"GET", deliveriesPath + "/:id/head/:verb", c.confirmHead},
		{"POST", deliveriesPath + "/:id/head/:verb", c.changeHead},
		{"POST", cancelPath, c.cancelWaiting},
		{"GET", "/console/events/:id/resend-all", c.confirmResend},
		{"POST", "/console/events/:id/resend-all", c.resendDeliveries},
	}
}

// deliveryList is the data of the page of deliveries.
type deliveryList struct {
	Filter url.Values
	Chips  frame.Filters
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
	wanted, err := c.API.Outbound.DeliveryQuery(ctx)
	unknown := errors.Is(err, event.ErrNotFound)
	if err != nil && !unknown {
		return err
	}
	var list httpapi.List[deliveryapi.DeliveryView]
	var counts event.Counts
	if !unknown {
		if list, err = c.API.Outbound.DeliveryPage(ctx, wanted); err != nil {
			return err
		}
		counts = c.countsOf(ctx.UserContext(), func(ctx context.Context, of api.ListCounter) (event.Counts, error) {
			return of.DeliveryCounts(ctx, wanted)
		})
	}
	data := deliveryList{
		Filter: frame.QueryOf(ctx), Rows: list.Items, Pager: c.Pager(ctx, list.Next), Unknown: unknown,
	}
	statuses := frame.States{Parameter: "status", Names: namesOf(delivery.Statuses()), Counts: counts, Unless: []string{"only"}}
	data.Chips = frame.NewFilters(deliveriesPath, data.Filter, statuses, nil)
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

const cancelPath = deliveriesPath + "/cancel"

// cancelFacts are the filters that the confirmation repeats.
var cancelFacts = []frame.Fact{
	{"destination", "Destination"}, {"subscription", "Subscription"}, {"event_id", "Event"}, {"status", "Status"},
	{"since", "Accepted since"}, {"until", "Accepted until"},
}

// cancelPathOf returns the confirmation page for canceling the waiting deliveries of a list. It is "" unless the list is
// filtered by a destination, a subscription or an event, and for lists of ended deliveries.
func cancelPathOf(filter url.Values) string {
	status := filter.Get("status")
	if filter.Get("destination") == "" && filter.Get("subscription") == "" && filter.Get("event_id") == "" ||
		status != "" && !slices.Contains(deliveryapi.WaitingStatuses(), delivery.Status(status)) {
		return ""
	}
	kept := url.Values{}
	for name := range filter {
		if value := filter.Get(name); value != "" && !slices.Contains([]string{"only", "limit", "cursor"}, name) {
			kept.Set(name, value)
		}
	}
	return cancelPath + "?" + kept.Encode()
}

// confirmCancelWaiting counts what would be canceled. The form holds the end of the counted time range, so that later deliveries
// aren't canceled.
func (c *Console) confirmCancelWaiting(ctx *fiber.Ctx) error {
	filter := frame.QueryOf(ctx)
	if cancelPathOf(filter) == "" {
		return httpapi.MissingField("destination")
	}
	wanted, err := c.API.Outbound.DeliveryQuery(ctx)
	if err != nil {
		return err
	}
	found, err := c.API.Outbound.CountCancelable(ctx, &wanted)
	if err != nil {
		return err
	}
	back := deliveriesPath + "?" + filter.Encode()
	if found.Waiting == 0 {
		return c.RedirectFailed(ctx, back, "No pending deliveries match these filters.")
	}
	filter.Set("until", frame.InstantText(found.Until))
	if since := wanted.Since; !since.IsZero() {
		filter.Set("since", frame.InstantText(since))
	}
	q := cancelQuestion(found, filter)
	q.Action, q.Back = cancelPathOf(filter), back
	return c.Ask(ctx, q)
}

func cancelQuestion(found deliveryapi.Canceled, filter url.Values) frame.Confirm {
	what := countOf(int(found.Waiting), "delivery", "deliveries")
	q := frame.Confirm{
		Section: deliveries, Title: "Cancel " + what, Button: "Cancel " + what, Reason: "optional", Destroys: true,
		Question: "Canceled deliveries don't reach their endpoint unless you resend them. Deliveries in flight and " +
			"those of events that come from now on are left alone.",
		Facts:  []frame.Fact{{"Deliveries", frame.Number(found.Waiting)}},
		Fields: []frame.Fact{{"count", strconv.FormatInt(found.Waiting, 10)}},
	}
	if found.AtLeast {
		q.Question = "One request cancels only the oldest; repeat it for the rest. " + q.Question
	}
	for _, one := range cancelFacts {
		if value := filter.Get(one.Name()); value != "" {
			q.Facts = append(q.Facts, frame.Fact{one.Value(), value})
		}
	}
	return q
}

// cancelWaiting cancels at most the confirmed number, and reports how many it canceled.
func (c *Console) cancelWaiting(ctx *fiber.Ctx) error {
	wanted, err := c.API.Outbound.DeliveryQuery(ctx)
	if err != nil {
		return err
	}
	counted, err := numberField(ctx, "count")
	if err != nil {
		return err
	}
	reason, err := reasonOf(ctx)
	if err != nil {
		return err
	}
	if wanted.Until.IsZero() {
		return httpapi.MissingField("until") // the count always has an end
	}
	canceled, err := c.API.Outbound.CancelWaiting(ctx, wanted, counted, reason)
	if err != nil && canceled == 0 {
		return err
	}
	filter := frame.QueryOf(ctx)
	filter.Del("until")
	back := deliveriesPath + "?" + filter.Encode()
	switch {
	case err != nil:
		return c.RedirectFailed(ctx, back, fmt.Sprintf("%d of the %d deliveries were canceled, then the database "+
			"failed. Cancel again for "+
			"the rest.", canceled, counted))
	case canceled < counted:
		return c.RedirectFailed(ctx, back, fmt.Sprintf("%d of the %d deliveries were canceled. The others have ended "+
			"or are under way since "+
			"they were counted.", canceled, counted))
	}
	return c.Done(ctx, back, "Canceled "+countOf(int(canceled), "delivery", "deliveries")+".")
}
