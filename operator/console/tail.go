package console

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/feed"
	"holdfast/operator/exchange"
)

// tailEvents sends the rows of the list whenever they have changed, as server-sent events. Under load that is once a second, and
// each time all rows of the first page: what comes faster than anybody can read is not sent.
func (c *Console) tailEvents(ctx *fiber.Ctx) error {
	wanted, err := c.API.EventQuery(ctx)
	if err != nil {
		return err
	}
	if wanted.Text != "" {
		return exchange.BadField("text")
	}
	came := make(chan struct{}, 1)
	beside := func(ctx context.Context) { c.wakes(ctx, wanted.Provider, came) }
	return c.Stream(ctx, came, beside, func(ctx context.Context) ([]byte, error) { return c.eventRows(ctx, wanted) })
}

// wakes follows what happens to the events of a provider from now on, and tells when there is something. It ends at once where as
// many follow the feed as may, or the feed cannot be read: then a page looks now and then.
func (c *Console) wakes(ctx context.Context, provider string, came chan<- struct{}) {
	now, err := c.API.Changes.Now(ctx)
	if err != nil {
		return
	}
	follower, err := c.API.Live.Join(ctx, now, feed.Filter{Provider: provider})
	if err != nil {
		return
	}
	wake(came) // what came before that, and after the page was drawn
	_ = follower.Run(ctx, func(b feed.Batch) error {
		if len(b.Items) > 0 || b.Skipped > 0 {
			wake(came)
		}
		return nil
	})
}

func wake(came chan<- struct{}) {
	select {
	case came <- struct{}{}:
	default: // it is awake
	}
}

// eventRows are the rows of a list as they are now.
func (c *Console) eventRows(ctx context.Context, wanted event.RecordQuery) ([]byte, error) {
	list, err := c.API.ListEvents(ctx, wanted)
	if err != nil {
		return nil, err
	}
	return c.Fragment("events", "event-rows", list.Items)
}
