package console

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
)

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
		return c.RedirectFailed(ctx, back, "No deliveries wait that match these filters.")
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
		Question: "Canceled deliveries don't reach their endpoint unless you send them again. Deliveries that are under way and " +
			"those of events that come from now on are left alone.",
		Facts:  []frame.Fact{{"Deliveries", frame.Number(found.Waiting)}},
		Fields: []frame.Fact{{"count", strconv.FormatInt(found.Waiting, 10)}},
	}
	if found.AtLeast {
		q.Question = "More wait than can be canceled at once: these are the oldest. " + q.Question
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
		return c.RedirectFailed(ctx, back, fmt.Sprintf("%d of the %d deliveries were canceled, then the database failed. Cancel again for "+
			"the rest.", canceled, counted))
	case canceled < counted:
		return c.RedirectFailed(ctx, back, fmt.Sprintf("%d of the %d deliveries were canceled. The others have ended or are under way since "+
			"they were counted.", canceled, counted))
	}
	return c.Done(ctx, back, "Canceled "+countOf(int(canceled), "delivery", "deliveries")+".")
}
