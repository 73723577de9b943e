package eventtypes

import (
	"slices"

	"github.com/gofiber/fiber/v2"

	"holdfast/event/eventtype"
	"holdfast/operator/api/eventtypeapi"
	"holdfast/operator/console/frame"
	"holdfast/operator/guard"
	"holdfast/operator/httpapi"
)

const (
	listPath = "/console/event-types"
	// rowsOnPage is how many types a page of the list has; shownBytes is how much of a schema or an example is shown.
	rowsOnPage = 50
	shownBytes = 9_000

	section = "Providers"
	guide   = "/event-types"
)

// Pages shows the types of an API.
type Pages struct {
	*frame.Frame
	*eventtypeapi.API
}

// Routes returns the routes of the pages.
func (p Pages) Routes() []guard.Page {
	return []guard.Page{
		{Method: fiber.MethodGet, Path: listPath, Handler: p.list},
		{Method: fiber.MethodGet, Path: listPath + "/:name", Handler: p.show},
	}
}

// List is the data of the page that lists types.
type List struct {
	Rows []eventtypeapi.EventTypeSummary
	// After is the last name if more types follow.
	After string
}

func (p Pages) list(ctx *fiber.Ctx) error {
	all, err := p.Store.EventTypesAfter(ctx.UserContext(), ctx.Query("after"), rowsOnPage+1)
	if err != nil {
		return err
	}
	var data List
	for _, t := range all[:min(len(all), rowsOnPage)] {
		data.Rows = append(data.Rows, eventtypeapi.SummaryOf(t))
	}
	if len(all) > rowsOnPage {
		data.After = data.Rows[rowsOnPage-1].Name
	}
	return p.Show(ctx, "event_types", frame.Page{Title: "Event types", Section: section, Guide: guide, Data: data})
}

// Page is the data of the page of a type.
type Page struct {
	eventtypeapi.EventTypeSummary

	// Number is the shown version.
	Number          string
	Shown           eventtype.TypeVersion
	Schema, Example string
	// IsCut reports that the schema or the example is longer.
	IsCut bool
}

func (p Pages) show(ctx *fiber.Ctx) error {
	name, err := httpapi.PathText(ctx, "name")
	if err != nil {
		return err
	}
	t, err := p.Store.EventType(ctx.UserContext(), name)
	if err != nil {
		return err
	}
	data := Page{EventTypeSummary: eventtypeapi.SummaryOf(t)}
	if data.Number = ctx.Query("version"); !slices.Contains(data.Versions, data.Number) {
		data.Number = data.Versions[len(data.Versions)-1]
	}
	data.Shown = t.Versions[data.Number]
	data.Schema, data.Example = frame.Indented(data.Shown.Schema), frame.Indented(data.Shown.Example)
	data.IsCut = max(len(data.Schema), len(data.Example)) > shownBytes
	data.Schema, data.Example = frame.Clip(shownBytes, data.Schema), frame.Clip(shownBytes, data.Example)
	return p.Show(ctx, "event_type", frame.Page{Title: name, Section: section, Guide: guide, Data: data})
}
