package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/operator/httpapi"
)

var inboxParameters = []httpapi.Parameter{
	httpapi.ChoiceParameter("lane", "Lane of the inbox.", event.Lanes()),
	httpapi.ProviderParameter, httpapi.SourceParameter, httpapi.LimitParameter, httpapi.CursorParameter,
}

func (a *API) inboxRoutes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.Get("listInbox", "/inbox", "Acknowledged events in the inbox, in order of arrival", a.listInbox).
			With(inboxParameters...).Returns(fiber.StatusOK, httpapi.List[event.Waiting]{}),
		httpapi.Get("showInboxEvent", "/inbox/:id", "One event in the inbox, with its attempts and the last error", a.showInboxEvent).
			Explain("The event itself, with its body and what it waits for: GET /events/{id}.").
			With(eventID).Returns(fiber.StatusOK, event.Waiting{}),
	}
}

func (a *API) listInbox(c *fiber.Ctx) error {
	q := httpapi.QueryOf(c, inboxParameters...)
	wanted := event.InboxQuery{
		Lane: httpapi.Choose(q, "lane", event.Lanes()), Provider: q.Text("provider"), Source: q.Source(), After: rowBefore(q),
		Limit: q.Limit() + 1, // one more shows whether there is a next page
	}
	if q.Err != nil {
		return q.Err
	}
	viewer := httpapi.IsViewer(c)
	return httpapi.RespondWith(c, func(ctx context.Context) (list httpapi.List[event.Waiting], err error) {
		rows, err := a.Events.Inbox(ctx, wanted)
		if err != nil {
			return list, err
		}
		view := func(w event.Waiting) event.Waiting { return waiting(viewer, w) }
		return httpapi.NewPage(rows, wanted.Limit-1, view, func(w event.Waiting) rowCursor { return rowCursor{w.Seq} }), nil
	})
}

func waiting(viewer bool, w event.Waiting) event.Waiting {
	w.Receipt = receipt(viewer, w.Receipt)
	return w
}

func (a *API) showInboxEvent(c *fiber.Ctx) error {
	if q := httpapi.QueryOf(c); q.Err != nil {
		return q.Err
	}
	return httpapi.RespondWith(c, func(ctx context.Context) (w event.Waiting, err error) {
		id, _, err := a.pathEvent(ctx, c)
		if err != nil {
			return w, err
		}
		w, err = a.Events.WaitingEvent(ctx, id)
		return waiting(httpapi.IsViewer(c), w), err
	})
}
