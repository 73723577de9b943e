package operator

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/event"
	"holdfast/event/fold"
)

// EntityView is the state of an entity.
type EntityView struct {
	event.EntityRef
	// Names are its other names.
	Names   []string        `json:"names,omitempty"`
	State   json.RawMessage `json:"state,omitempty"`
	Deleted bool            `json:"deleted"`
	// Version, OccurredAt and LastEvent are of the latest change in fold order; none where events have only mentioned it.
	Version    *int64    `json:"version,omitempty"`
	OccurredAt time.Time `json:"occurred_at,omitzero"`
	LastEvent  string    `json:"last_event_id,omitempty"`
	// Revision is that of the feed of changes; not of a state as of a moment.
	Revision int64      `json:"revision,omitempty"`
	AsOf     *time.Time `json:"as_of,omitempty"`
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

// listedEntities is a page of entities.
type listedEntities struct {
	List[EntityView]

	// ChangedSince is later than what was asked for where too many changes came since: the list is complete from then on.
	ChangedSince time.Time `json:"changed_since,omitzero"`
}

func (a *API) listEntities(c *fiber.Ctx) error {
	wanted, err := a.EntityQuery(c)
	if err != nil {
		return err
	}
	list, since, err := a.ListEntities(c.UserContext(), wanted)
	if err != nil {
		return err
	}
	return c.JSON(listedEntities{list, since})
}

// EntityQuery is what a request for a list of entities asks for.
func (a *API) EntityQuery(c *fiber.Ctx) (event.EntityQuery, error) {
	q := queryOf(c, "provider", "kind", "prefix", "since", "limit", "cursor")
	wanted := event.EntityQuery{
		Provider: q.text("provider"), Kind: q.text("kind"), Prefix: q.text("prefix"), Since: q.time("since"), Limit: q.limit(),
	}
	if wanted.Kind != "" && wanted.Provider == "" {
		q.refuse("kind") // a kind is one of a provider
	}
	if wanted.Prefix != "" && wanted.Kind == "" {
		q.refuse("prefix") // so is the ID of an entity one of a kind
	}
	wanted.After = cursorOf(q, func(r event.EntityRef) bool {
		return isText(r.Provider) && isText(r.Kind) && isText(r.ExternalID)
	})
	return wanted, q.err
}

// ListEntities is one page of the entities that a query asks for, without their states, and since when it has all that
// changed. Where the beginning of an ID is looked for, a page that is not full has a next one as long as there are some that
// were not looked at.
func (a *API) ListEntities(ctx context.Context, q event.EntityQuery) (list List[EntityView], since time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	q.Limit++ // one more says that there is a next page
	found, err := a.Entities.EntityList(ctx, q)
	if err != nil {
		return list, since, err
	}
	list = Cut(found.Entities, q.Limit-1, ViewEntity, func(e event.Entity) event.EntityRef { return e.EntityRef })
	list.GoOn(found.LookedTo != nil, found.LookedTo)
	return list, found.ChangedSince, nil
}

// ViewEntity is an entity as the API shows it to those who may see its state.
func ViewEntity(e event.Entity) EntityView {
	return EntityView{
		EntityRef: e.EntityRef, Names: e.Names, State: e.State, Deleted: e.Deleted, Version: e.Last.Version,
		OccurredAt: e.Last.OccurredAt, LastEvent: e.Last.EventID, Revision: e.Revision,
		CollapsedUntil: e.CollapsedUntil,
	}
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
	view, err := a.Entity(c, ref, at)
	if err != nil {
		return err
	}
	return c.JSON(view)
}

// Entity is an entity as the caller may see it, now or, unless it is zero, as of a moment.
func (a *API) Entity(c *fiber.Ctx, ref event.EntityRef, at time.Time) (view EntityView, err error) {
	ctx, cancel := within(c)
	defer cancel()
	var e event.Entity
	if at.IsZero() {
		e, err = a.Entities.Entity(ctx, ref)
	} else {
		e, err = a.Entities.EntityAsOf(ctx, ref, at)
	}
	if err != nil {
		return view, err
	}
	if view = ViewEntity(e); !at.IsZero() {
		view.AsOf = &at
	}
	if a.hidesState(isViewer(c), ref.Provider) {
		view.State, view.Redacted = nil, true
	}
	return view, nil
}

// TimelineQuery is what a request for the timeline of the entity in its path asks for.
func (a *API) TimelineQuery(c *fiber.Ctx) (wanted event.TimelineQuery, err error) {
	ref, err := entityOf(c)
	if err != nil {
		return wanted, err
	}
	q := queryOf(c, "as_of", "limit", "cursor")
	wanted = event.TimelineQuery{Entity: ref, AsOf: q.time("as_of"), Limit: q.limit()}
	wanted.Before = cursorOf(q, func(c event.LinkCursor) bool {
		return uuid.Validate(c.EventID) == nil && c.Position > 0 && c.Position < 1<<31
	})
	return wanted, q.err
}

func (a *API) showTimeline(c *fiber.Ctx) error {
	wanted, err := a.TimelineQuery(c)
	if err != nil {
		return err
	}
	ctx, cancel := within(c)
	defer cancel()
	wanted.Limit++ // one more says that there is a next page
	rows, err := a.Entities.TimelinePage(ctx, wanted)
	if err != nil {
		return err
	}
	viewer := isViewer(c)
	view := func(l event.Link) Change { return a.change(viewer, l) }
	return c.JSON(Cut(rows, wanted.Limit-1, view, event.Link.Cursor))
}

// Effects is a page of a timeline with what each change made of the entity. Who may not see the states gets the changes alone.
func (a *API) Effects(c *fiber.Ctx, q event.TimelineQuery) (list List[fold.Effect], err error) {
	ctx, cancel := within(c)
	defer cancel()
	q.Limit++ // one more says that there is a next page
	rows, err := a.Entities.Effects(ctx, q)
	if err != nil {
		return list, err
	}
	hidden := a.hidesState(isViewer(c), q.Entity.Provider)
	return Cut(rows, q.Limit-1, func(e fold.Effect) fold.Effect {
		if hidden {
			e.State, e.Fields = nil, nil
		}
		return e
	}, func(e fold.Effect) event.LinkCursor { return e.Cursor() }), nil
}
