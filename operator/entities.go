package operator

import (
	"encoding/json"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/event"
)

// entityView is the state of an entity.
type entityView struct {
	event.EntityRef
	// Names are its other names.
	Names   []string        `json:"names,omitempty"`
	State   json.RawMessage `json:"state,omitempty"`
	Deleted bool            `json:"deleted"`
	// Version, OccurredAt and LastEvent are of the latest change in fold order; none where events have only mentioned it.
	Version    *int64     `json:"version,omitempty"`
	OccurredAt time.Time  `json:"occurred_at,omitzero"`
	LastEvent  string     `json:"last_event_id,omitempty"`
	AsOf       *time.Time `json:"as_of,omitempty"`
	// CollapsedUntil is the first moment of which the state is known; none where no history is collapsed.
	CollapsedUntil *time.Time `json:"collapsed_until,omitempty"`
	Redacted       bool       `json:"redacted,omitempty"`
}

func entityOf(c *fiber.Ctx) (ref event.EntityRef, err error) {
	if ref.Provider, err = pathText(c, "provider"); err != nil {
		return ref, err
	}
	if ref.Kind, err = pathText(c, "kind"); err != nil {
		return ref, err
	}
	ref.ExternalID, err = pathText(c, "external_id")
	return ref, err
}

func (a *API) showEntity(c *fiber.Ctx) error {
	ref, err := entityOf(c)
	if err != nil {
		return err
	}
	q := queryOf(c, "as_of")
	at := q.time("as_of")
	if q.err != nil {
		return q.err
	}
	ctx, cancel := within(c)
	defer cancel()
	var e event.Entity
	if at.IsZero() {
		e, err = a.Entities.Entity(ctx, ref)
	} else {
		e, err = a.Entities.EntityAsOf(ctx, ref, at)
	}
	if err != nil {
		return err
	}
	view := entityView{
		EntityRef: e.EntityRef, Names: e.Names, State: e.State, Deleted: e.Deleted, Version: e.Last.Version,
		OccurredAt: e.Last.OccurredAt, LastEvent: e.Last.EventID, CollapsedUntil: e.CollapsedUntil,
	}
	if !at.IsZero() {
		view.AsOf = &at
	}
	if a.hidesState(c, ref.Provider) {
		view.State, view.Redacted = nil, true
	}
	return c.JSON(view)
}

func (a *API) showTimeline(c *fiber.Ctx) error {
	ref, err := entityOf(c)
	if err != nil {
		return err
	}
	q := queryOf(c, "limit", "cursor")
	wanted := event.TimelineQuery{Entity: ref, Limit: q.limit() + 1}
	wanted.Before = cursorOf(q, func(c event.LinkCursor) bool {
		return uuid.Validate(c.EventID) == nil && c.Position > 0 && c.Position < 1<<31
	})
	if q.err != nil {
		return q.err
	}
	ctx, cancel := within(c)
	defer cancel()
	rows, err := a.Entities.TimelinePage(ctx, wanted)
	if err != nil {
		return err
	}
	view := func(l event.Link) change { return a.change(c, l) }
	return c.JSON(cut(rows, wanted.Limit-1, view, event.Link.Cursor))
}
