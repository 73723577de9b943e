package eventtypeapi

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"holdfast/event/eventtype"
	"holdfast/event/oversight"
	"holdfast/operator/httpapi"
)

// API serves event types.
type API struct{ Store Store }

// Store reads and changes event types. Each change writes one audit entry in its transaction.
type Store interface {
	// EventTypes returns all types by name.
	EventTypes(ctx context.Context) ([]eventtype.EventType, error)
	// EventTypesAfter returns types by name, after the given name, up to limit.
	EventTypesAfter(ctx context.Context, name string, limit int) ([]eventtype.EventType, error)
	// EventType returns a type, or event.ErrNotFound.
	EventType(ctx context.Context, name string) (eventtype.EventType, error)
	// ApplyEventType creates a type or replaces the one of its name.
	ApplyEventType(ctx context.Context, t eventtype.EventType, by oversight.Actor) error
	// DeleteEventType deletes a type. It returns event.ErrNotFound if there is none.
	DeleteEventType(ctx context.Context, name string, by oversight.Actor) error
}

// EventTypeSummary is a type in a list, without its schemas.
type EventTypeSummary struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Check       eventtype.Check `json:"check"`
	// Versions are their numbers, lowest first. Deprecated are those that are.
	Versions   []string `json:"versions"`
	Deprecated []string `json:"deprecated,omitempty"`
}

// SummaryOf returns the summary of a type.
func SummaryOf(t eventtype.EventType) EventTypeSummary {
	s := EventTypeSummary{Name: t.Name, Description: t.Description, Check: t.Checked(), Versions: t.Numbers()}
	for _, number := range s.Versions {
		if t.Versions[number].Deprecated {
			s.Deprecated = append(s.Deprecated, number)
		}
	}
	return s
}

// DeletedEventType is the response to the deletion of a type.
type DeletedEventType struct {
	Deleted string `json:"deleted"`
}

var typeName = httpapi.TextParameter("name", "Name of the event type.")

// Routes returns the API's routes. Tests compare them with the access table, and generate openapi.json from them.
func (a *API) Routes() []httpapi.Route {
	const one = "/event-types/:name"
	return []httpapi.Route{
		httpapi.Get("listEventTypes", "/event-types", "Declared event types by name, without their schemas", a.list).
			With(httpapi.LimitParameter, httpapi.CursorParameter).Returns(fiber.StatusOK, httpapi.List[EventTypeSummary]{}),
		httpapi.Get("showEventType", one, "One event type, with the schema and example of each version", a.show).
			With(typeName).Returns(fiber.StatusOK, eventtype.EventType{}),
		a.applyRoute(),
		httpapi.Delete("deleteEventType", one, "Delete an event type: its events are no longer checked", a.delete).
			With(typeName).MayTake(httpapi.Reasoned{}).Returns(fiber.StatusOK, DeletedEventType{}),
	}
}

// nameCursor is a position in the list.
type nameCursor struct {
	Name string `json:"name"`
}

func (a *API) list(c *fiber.Ctx) error {
	q := httpapi.QueryOf(c, httpapi.LimitParameter, httpapi.CursorParameter)
	limit, after := q.Limit(), ""
	if place := httpapi.CursorOf(q, func(p nameCursor) bool { return p.Name != "" }); place != nil {
		after = place.Name
	}
	if q.Err != nil {
		return q.Err
	}
	return httpapi.RespondWith(c, func(ctx context.Context) (httpapi.List[EventTypeSummary], error) {
		all, err := a.Store.EventTypesAfter(ctx, after, limit+1)
		return httpapi.NewPage(all, limit, SummaryOf, func(t eventtype.EventType) nameCursor { return nameCursor{t.Name} }), err
	})
}

func (a *API) show(c *fiber.Ctx) error {
	return httpapi.ReadByPath(c, "name", func(ctx context.Context, name string) error {
		t, err := a.Store.EventType(ctx, name)
		if err != nil {
			return err
		}
		return c.JSON(t)
	})
}

func (a *API) delete(c *fiber.Ctx) error {
	return httpapi.ChangeByPath(c, "name", func(ctx context.Context, name string, by oversight.Actor) error {
		if err := a.Store.DeleteEventType(ctx, name, by); err != nil {
			return err
		}
		return c.JSON(DeletedEventType{name})
	})
}
