package exchange

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// Operations are the routes that all operations of a kind have: redrives, rebuilds, imports, resends.
func Operations[T any](
	noun string, latest func(context.Context, int) ([]T, error), one func(context.Context, string) (T, error),
	change func(context.Context, string, operation.State, oversight.Actor) (T, error), idOf func(T) string,
) []Route {
	all := "/" + noun + "s"
	to := func(state operation.State) fiber.Handler {
		return func(c *fiber.Ctx) error { return sendChanged(c, state, change, idOf) }
	}
	return []Route{
		Get(all, "the latest "+noun+"s", func(c *fiber.Ctx) error { return sendLatest(c, latest) }),
		Get(all+"/:id", "one "+noun, func(c *fiber.Ctx) error { return SendOperation(c, one) }),
		Post(all+"/:id/pause", "pause one "+noun, to(operation.Paused)),
		Post(all+"/:id/resume", "resume one "+noun, to(operation.Running)),
		Post(all+"/:id/cancel", "cancel one "+noun, to(operation.Canceled)),
	}
}

// sendLatest answers with the latest operations of a kind.
func sendLatest[T any](c *fiber.Ctx, latest func(context.Context, int) ([]T, error)) error {
	q := QueryOf(c, "limit")
	limit := q.Limit()
	if q.Err != nil {
		return q.Err
	}
	ctx, cancel := Within(c)
	defer cancel()
	rows, err := latest(ctx, limit)
	if err != nil {
		return err
	}
	return c.JSON(List[T]{Items: append([]T{}, rows...)})
}

// SendOperation answers with what is known of one operation.
func SendOperation[T any](c *fiber.Ctx, read func(context.Context, string) (T, error)) error {
	return LookAt(c, "id", func(ctx context.Context, id string) error {
		r, err := read(ctx, id)
		if err != nil {
			return err
		}
		return c.JSON(r)
	})
}

// sendChanged changes the state of an operation, and answers with it. One that comes beside an error is on record.
func sendChanged[T any](
	c *fiber.Ctx, to operation.State,
	change func(context.Context, string, operation.State, oversight.Actor) (T, error), idOf func(T) string,
) error {
	return Decide(c, "id", func(ctx context.Context, id string, by oversight.Actor) error {
		r, err := change(ctx, id, to, by)
		if err != nil && idOf(r) == "" {
			return err
		}
		return c.JSON(r)
	})
}
