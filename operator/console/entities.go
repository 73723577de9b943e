package console

import (
	"encoding/json"
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event/fold"
	"holdfast/operator/api"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
)

const (
	entitiesPath = "/console/entities"
	entities     = "Entities"
)

func (c *Console) entityRoutes() []route {
	if c.API.Entities == nil {
		return nil
	}
	return []route{
		{"GET", entitiesPath, c.listEntities},
		{"GET", entitiesPath + "/:provider/:kind/:external_id", c.showEntity},
	}
}

type entityPages struct {
	Filter      url.Values
	Suggestions suggestions
	Rows        []api.EntityView
	Pager       frame.Pager
	// Complete is when the list starts to be complete, if that is later than requested.
	Complete time.Time
	// IsShort reports that the search reached its limit and continues on the next page.
	IsShort bool
}

func (c *Console) listEntities(ctx *fiber.Ctx) error {
	wanted, err := c.API.EntityQuery(ctx)
	if err != nil {
		return err
	}
	list, since, err := c.API.ListEntities(ctx.UserContext(), wanted)
	if err != nil {
		return err
	}
	data := entityPages{
		Filter: frame.QueryOf(ctx), Rows: list.Items, Pager: c.Pager(ctx, list.Next),
		IsShort: list.Next != "" && len(list.Items) < wanted.Limit,
	}
	if data.Suggestions, err = c.suggestions(ctx.UserContext()); err != nil {
		return err
	}
	if since.After(wanted.Since) {
		data.Complete = since
	}
	return c.Show(ctx, "entities", frame.Page{Title: entities, Section: entities, Data: data})
}

// entityPage is one entity: its state, its timeline, and the event behind each field.
type entityPage struct {
	api.EntityView

	Text    bodyView
	Origins []fold.Origin
	Effects []fold.Effect
	Pager   frame.Pager
	// AsOfText is the requested time.
	AsOfText string
	// IsFirst reports whether this is the first page of the timeline, which shows the fields' origins.
	IsFirst bool
}

// effectsPerPage is how many changes a page compares and searches for the origins of fields.
const effectsPerPage = 100

func (c *Console) showEntity(ctx *fiber.Ctx) error {
	all := ctx.Query("show") == "all"
	if err := withoutParameter(ctx, "show"); err != nil {
		return err
	}
	wanted, err := c.API.TimelineQuery(ctx)
	if err != nil {
		return err
	}
	view, err := c.API.Entity(ctx, wanted.Entity, wanted.AsOf)
	if err != nil {
		return err
	}
	wanted.Limit = effectsPerPage
	effects, err := c.API.Effects(ctx, wanted)
	if err != nil {
		return err
	}
	data := entityPage{
		EntityView: view, Text: viewBody(api.Content{JSON: view.State}, "", all), Effects: effects.Items,
		Pager: c.Pager(ctx, effects.Next), AsOfText: ctx.Query("as_of"), IsFirst: wanted.Before == nil,
	}
	if data.IsFirst && !view.Redacted {
		if data.Origins, err = fold.Origins(view.State, effects.Items); err != nil {
			return err
		}
	}
	return c.Show(ctx, "entity", frame.Page{Title: view.Kind + " " + view.ExternalID, Section: entities, Data: data})
}

// withoutParameter removes a page's own parameter from a request, leaving a query for the API.
func withoutParameter(ctx *fiber.Ctx, name string) error {
	values, err := url.ParseQuery(string(ctx.Request().URI().QueryString()))
	if err != nil {
		return httpapi.BadField(name)
	}
	values.Del(name)
	ctx.Request().URI().SetQueryString(values.Encode())
	return nil
}

// value shortens a part of a state to one line, with numbers unchanged.
func value(raw json.RawMessage) string { return frame.Clip(200, string(raw)) }
