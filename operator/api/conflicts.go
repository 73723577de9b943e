package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/operator/httpapi"
)

// ConflictList reads events that were dropped because another one has their key.
type ConflictList interface {
	Conflicts(ctx context.Context, q event.ConflictQuery) ([]event.Conflict, error)
}

func (a *API) listConflicts(c *fiber.Ctx) error {
	q := httpapi.QueryOf(c, "provider", "source", "key", "since", "until", "limit", "cursor")
	wanted := event.ConflictQuery{
		Provider: q.Text("provider"), Source: q.Source(), Key: q.Text("key"),
		Since: q.Time("since"), Until: q.Time("until"), Limit: q.Limit() + 1,
	}
	wanted.Before = rowBefore(q)
	if q.Err != nil {
		return q.Err
	}
	ctx, cancel := httpapi.RequestContext(c)
	defer cancel()
	rows, err := a.Conflicts.Conflicts(ctx, wanted)
	if err != nil {
		return err
	}
	return c.JSON(httpapi.NewPage(rows, wanted.Limit-1, httpapi.Identity, func(e event.Conflict) rowCursor { return rowCursor{e.ID} }))
}
