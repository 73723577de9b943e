package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/operator/httpapi"
)

// EntityView is the state of an entity.
type EntityView struct {
	event.EntityRef
	// Names are the entity's aliases.
	Names []string `json:"names,omitempty"`
	// State is absent in lists and if Redacted.
	State   json.RawMessage `json:"state,omitempty" jsonschema:"type=object"`
	Deleted bool            `json:"deleted"`
	// Version, OccurredAt and LastEvent describe the latest change in fold order; absent if events only mention the entity.
	Version    *int64    `json:"version,omitempty"`
	OccurredAt time.Time `json:"occurred_at,omitzero"`
	LastEvent  string    `json:"last_event_id,omitempty" jsonschema:"format=uuid"`
	// Revision is its revision in the change feed, which increases with each change; absent for a state at a point in time.
	Revision int64      `json:"revision,omitempty"`
	AsOf     *time.Time `json:"as_of,omitempty"`
	// Incomplete reports that an event was expunged whose part of the state can't be separated from that of other events any more.
	// The state lacks what other events did, or may still hold what that one did, until the next snapshot or delete.
	Incomplete bool `json:"incomplete,omitempty"`
	// CollapsedUntil is the earliest time with a known state. Earlier changes aren't stored, because their events are older than the
	// retention or were never imported. Absent if all changes are stored, and with as_of.
	CollapsedUntil *time.Time `json:"collapsed_until,omitempty"`
	// Redacted reports that the state is hidden, because the provider's definition hides parts of its bodies.
	Redacted bool `json:"redacted,omitempty"`
}

func entityOf(c *fiber.Ctx) (ref event.EntityRef, err error) {
	if ref.Provider, err = httpapi.PathText(c, "provider"); err != nil {
		return ref, err
	}
	if ref.Kind, err = httpapi.PathText(c, "kind"); err != nil {
		return ref, err
	}
	ref.ExternalID, err = httpapi.PathText(c, "external_id")
	return ref, err
}

var (
	entityKey = []httpapi.Parameter{
		httpapi.ProviderParameter,
		httpapi.TextParameter("kind", "Kind of the entity."),
		httpapi.TextParameter("external_id", "ID of the entity at the provider, or another of its names, percent-encoded."),
	}
	entityParameters = []httpapi.Parameter{
		httpapi.ProviderParameter,
		httpapi.TextParameter("kind", "Kind of the entities; needs provider."),
		httpapi.TextParameter("prefix", "Beginning of the ID; needs kind."),
		httpapi.TimeParameter("since", "Only entities changed by events accepted since then"),
		httpapi.LimitParameter, httpapi.CursorParameter,
	}
	stateAt            = httpapi.TimeParameter("as_of", "State at a time: from what had occurred by then, as parsed today.")
	timelineParameters = []httpapi.Parameter{
		httpapi.TimeParameter("as_of", "Leaves out changes that occurred later."), httpapi.LimitParameter, httpapi.CursorParameter,
	}
)

func (a *API) entityRoutes() []httpapi.Route {
	const path = "/entities/:provider/:kind/:external_id"
	return []httpapi.Route{
		httpapi.Get("listEntities", "/entities", "Entities, ordered by name", a.listEntities).
			Explain("States aren't included. kind needs provider, and prefix needs both. A search by prefix among more than 20,000 "+
				"entities may return a short page, even an empty one, that has a next one.").
			With(entityParameters...).Returns(fiber.StatusOK, entityList{}),
		httpapi.Get("showEntity", path, "State of an entity, now or at a time", a.showEntity).
			With(entityKey...).With(stateAt).Returns(fiber.StatusOK, EntityView{}),
		httpapi.Get("showTimeline", path+"/timeline", "Changes of an entity, the latest first", a.showTimeline).
			With(entityKey...).With(timelineParameters...).Returns(fiber.StatusOK, httpapi.List[Change]{}),
	}
}

type entityList struct {
	httpapi.List[EntityView]

	// ChangedSince is later than since if there were more than 20,000 changes: the list is complete from then on.
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
	return c.JSON(entityList{list, since})
}

// EntityQuery parses the query of a list of entities.
func (a *API) EntityQuery(c *fiber.Ctx) (event.EntityQuery, error) {
	q := httpapi.QueryOf(c, entityParameters...)
	wanted := event.EntityQuery{
		Provider: q.Text("provider"), Kind: q.Text("kind"), Prefix: q.Text("prefix"), Since: q.Time("since"), Limit: q.Limit(),
	}
	if wanted.Kind != "" && wanted.Provider == "" {
		q.Needs("kind", "provider")
	}
	if wanted.Prefix != "" && wanted.Kind == "" {
		q.Needs("prefix", "kind")
	}
	wanted.After = httpapi.CursorOf(q, func(r event.EntityRef) bool {
		return httpapi.IsText(r.Provider) && httpapi.IsText(r.Kind) && httpapi.IsText(r.ExternalID)
	})
	return wanted, q.Err
}

// ListEntities returns one page of the matching entities, without their states, and the time since which the list is complete.
// In a search by ID prefix, a page that isn't full still has a next one while entities remain unchecked.
func (a *API) ListEntities(
	ctx context.Context, q event.EntityQuery,
) (list httpapi.List[EntityView], since time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, httpapi.Timeout)
	defer cancel()
	q.Limit++ // one more shows whether there is a next page
	found, err := a.Entities.EntityList(ctx, q)
	if err != nil {
		return list, since, err
	}
	list = httpapi.NewPage(found.Entities, q.Limit-1, ViewEntity, func(e event.Entity) event.EntityRef { return e.EntityRef })
	list.ContinueAt(found.SearchedTo != nil, found.SearchedTo)
	return list, found.ChangedSince, nil
}

// ViewEntity converts an entity for callers who may see its state.
func ViewEntity(e event.Entity) EntityView {
	return EntityView{
		EntityRef: e.EntityRef, Names: e.Names, State: e.State, Deleted: e.Deleted, Version: e.Last.Version,
		OccurredAt: e.Last.OccurredAt, LastEvent: e.Last.EventID, Revision: e.Revision,
		CollapsedUntil: e.CollapsedUntil, Incomplete: e.Incomplete,
	}
}

func (a *API) showEntity(c *fiber.Ctx) error {
	ref, err := entityOf(c)
	if err != nil {
		return err
	}
	q := httpapi.QueryOf(c, stateAt)
	at := q.Time("as_of")
	if q.Err != nil {
		return q.Err
	}
	view, err := a.Entity(c, ref, at)
	if err != nil {
		return err
	}
	return c.JSON(view)
}

// Entity returns an entity as the caller may see it, at a point in time or, if that is zero, now.
func (a *API) Entity(c *fiber.Ctx, ref event.EntityRef, at time.Time) (view EntityView, err error) {
	ctx := httpapi.RequestContext(c)
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
	if a.hidesState(httpapi.IsViewer(c), ref.Provider) {
		view.State, view.Redacted = nil, true
	}
	return view, nil
}

// TimelineQuery parses the query of the timeline of the entity in the path.
func (a *API) TimelineQuery(c *fiber.Ctx) (wanted event.TimelineQuery, err error) {
	ref, err := entityOf(c)
	if err != nil {
		return wanted, err
	}
	q := httpapi.QueryOf(c, timelineParameters...)
	wanted = event.TimelineQuery{Entity: ref, AsOf: q.Time("as_of"), Limit: q.Limit()}
	wanted.Before = httpapi.CursorOf(q, func(c event.LinkCursor) bool {
		return uuid.Validate(c.EventID) == nil && c.Position > 0 && c.Position < 1<<31
	})
	return wanted, q.Err
}

func (a *API) showTimeline(c *fiber.Ctx) error {
	wanted, err := a.TimelineQuery(c)
	if err != nil {
		return err
	}
	ctx := httpapi.RequestContext(c)
	wanted.Limit++ // one more shows whether there is a next page
	rows, err := a.Entities.TimelinePage(ctx, wanted)
	if err == nil && len(rows) == 0 {
		_, err = a.Entities.Entity(ctx, wanted.Entity) // it may not exist
	}
	if err != nil {
		return err
	}
	viewer := httpapi.IsViewer(c)
	view := func(l event.Link) Change { return a.change(viewer, l) }
	return c.JSON(httpapi.NewPage(rows, wanted.Limit-1, view, event.Link.Cursor))
}

// Effects returns a page of a timeline, with each change's effect on the entity. Callers who may not see states get only the
// changes.
func (a *API) Effects(c *fiber.Ctx, q event.TimelineQuery) (list httpapi.List[fold.Effect], err error) {
	q.Limit++ // one more shows whether there is a next page
	rows, err := a.Entities.Effects(httpapi.RequestContext(c), q)
	if err != nil {
		return list, err
	}
	hidden := a.hidesState(httpapi.IsViewer(c), q.Entity.Provider)
	return httpapi.NewPage(rows, q.Limit-1, func(e fold.Effect) fold.Effect {
		if hidden {
			e.State, e.Fields = nil, nil
		}
		return e
	}, func(e fold.Effect) event.LinkCursor { return e.Cursor() }), nil
}
