package operator

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/event"
	"holdfast/event/oversight"
)

type rowCursor struct {
	ID int64 `json:"id"`
}

func (c rowCursor) valid() bool { return c.ID > 0 }

func (a *API) listAudit(c *fiber.Ctx) error {
	wanted, err := a.AuditQuery(c)
	if err != nil {
		return err
	}
	list, err := a.ListAudit(c.UserContext(), wanted)
	if err != nil {
		return err
	}
	return c.JSON(list)
}

// AuditQuery is what a request for a list of audit entries asks for.
func (a *API) AuditQuery(c *fiber.Ctx) (oversight.AuditQuery, error) {
	q := queryOf(c, "actor", "action", "object", "since", "until", "limit", "cursor")
	wanted := oversight.AuditQuery{
		Actor: q.text("actor"), Action: choose(q, "action", oversight.AuditActions()), Object: q.text("object"),
		Limit: q.limit(),
	}
	wanted.Since, wanted.Until = q.period()
	if place := cursorOf(q, rowCursor.valid); place != nil {
		wanted.Before = place.ID
	}
	return wanted, q.err
}

// ListAudit is one page of the audit entries that a query asks for.
func (a *API) ListAudit(ctx context.Context, q oversight.AuditQuery) (list List[oversight.AuditEntry], err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	q.Limit++ // one more says that there is a next page
	rows, err := a.Audit.AuditLog(ctx, q)
	if err != nil {
		return list, err
	}
	return Cut(rows, q.Limit-1, same, func(e oversight.AuditEntry) rowCursor { return rowCursor{e.ID} }), nil
}

func (a *API) listErrors(c *fiber.Ctx) error {
	q := queryOf(c, "phase", "provider", "source", "class", "code", "event_id", "since", "until", "limit", "cursor")
	wanted := oversight.ErrorQuery{
		Phase: choose(q, "phase", event.Phases()), Provider: q.text("provider"), Source: q.source(),
		Code:    q.text("code"),
		Class:   choose(q, "class", event.Classes()),
		EventID: q.text("event_id"), Limit: q.limit() + 1,
	}
	wanted.Since, wanted.Until = q.period()
	if wanted.EventID != "" && uuid.Validate(wanted.EventID) != nil {
		q.refuse("event_id")
	}
	if place := cursorOf(q, rowCursor.valid); place != nil {
		wanted.Before = place.ID
	}
	if q.err != nil {
		return q.err
	}
	ctx, cancel := within(c)
	defer cancel()
	rows, err := a.Errors.Errors(ctx, wanted)
	if err != nil {
		return err
	}
	return c.JSON(Cut(rows, wanted.Limit-1, same, func(e oversight.ErrorEntry) rowCursor { return rowCursor{e.ID} }))
}

// How far back statistics look.
const (
	defaultWindow = time.Hour
	maxWindow     = 7 * 24 * time.Hour
)

func (a *API) showStats(c *fiber.Ctx) error {
	q := queryOf(c, "window")
	window := defaultWindow
	if text := q.text("window"); text != "" {
		var err error
		if window, err = time.ParseDuration(text); err != nil || window < time.Minute || window > maxWindow {
			q.refuse("window")
		}
	}
	if q.err != nil {
		return q.err
	}
	ctx, cancel := within(c)
	defer cancel()
	stats, err := a.Stats.Stats(ctx, window)
	if err != nil {
		return err
	}
	return c.JSON(stats)
}
