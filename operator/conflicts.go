package operator

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
)

// ConflictList reads the events that were dropped because another one has their key.
type ConflictList interface {
	Conflicts(ctx context.Context, q event.ConflictQuery) ([]event.Conflict, error)
}

func (a *API) listConflicts(c *fiber.Ctx) error {
	q := queryOf(c, "provider", "source", "key", "since", "until", "limit", "cursor")
	wanted := event.ConflictQuery{
		Provider: q.text("provider"), Source: q.source(), Key: q.text("key"),
		Since: q.time("since"), Until: q.time("until"), Limit: q.limit() + 1,
	}
	if place := cursorOf(q, rowCursor.valid); place != nil {
		wanted.Before = place.ID
	}
	if q.err != nil {
		return q.err
	}
	ctx, cancel := within(c)
	defer cancel()
	rows, err := a.Conflicts.Conflicts(ctx, wanted)
	if err != nil {
		return err
	}
	return c.JSON(Cut(rows, wanted.Limit-1, same, func(e event.Conflict) rowCursor { return rowCursor{e.ID} }))
}
