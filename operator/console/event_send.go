package console

import (
	"context"
	"net/url"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
)

// confirmReplay asks for confirmation to deliver a processed event again.
func (c *Console) confirmReplay(ctx *fiber.Ctx) error {
	id, err := httpapi.PathUUID(ctx)
	if err != nil {
		return err
	}
	all, err := c.API.Outbound.Deliveries.DeliveriesOf(ctx.UserContext(), id)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return c.RedirectFailed(ctx, eventPath(id), "No subscription got this event, so there is nothing to send again. A resend also sends "+
			"what matches a subscription now.")
	}
	q := frame.Confirm{
		Section: "Events", Title: "Replay to " + countOf(len(all), "subscription", "subscriptions"),
		Question: "The event goes out again to each subscription below, under a new webhook-id, even where it was delivered before. " +
			"It is not processed again: entities stay as they are. What is paused waits until it is resumed.",
		Facts:  []frame.Fact{{"Event", id}, {"Deliveries", strconv.Itoa(len(all))}},
		Action: eventPath(id) + "/send-all", Button: "Send " + countOf(len(all), "delivery", "deliveries"), Reason: "optional",
		Back: eventPath(id),
	}
	for _, d := range all {
		q.Facts = append(q.Facts, frame.Fact{d.Subscription, string(d.Status) + ", to " + d.Destination})
		q.Fields = append(q.Fields, frame.Fact{"id", strconv.FormatInt(d.SubscriptionID, 10)})
	}
	return c.Ask(ctx, q)
}

// replayDeliveries resends an event to the subscriptions that the confirmation named.
func (c *Console) replayDeliveries(ctx *fiber.Ctx) error {
	eventID, err := httpapi.PathUUID(ctx)
	if err != nil {
		return err
	}
	values, err := url.ParseQuery(string(ctx.BodyRaw()))
	if err != nil {
		return httpapi.BadField("id")
	}
	ids, err := idsOf(values)
	if err != nil {
		return err
	}
	reason, err := reasonOf(ctx)
	if err != nil {
		return err
	}
	send := func(within context.Context, subscription int64, by oversight.Actor) error {
		_, err := c.API.Outbound.Deliveries.SendAgain(within, delivery.Key{EventID: eventID, SubscriptionID: subscription}, by)
		return err
	}
	return c.RedirectWith(ctx, eventPath(eventID), applied(ctx, ids, "sent again", send, httpapi.Actor(ctx, reason)))
}

// CanReplay reports whether the event was processed and has deliveries.
func (p eventPage) CanReplay() bool {
	return p.Status == event.StatusProcessed && len(p.Deliveries) > 0
}

// countOf returns a number with its noun.
func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return frame.Number(n) + " " + many
}
