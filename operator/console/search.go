package console

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
)

// matches are what a text names, if there are several.
type matches struct {
	EventIDs []string
	Entities []event.EntityRef
}

// maxMatches is how many entities with the same ID are listed.
const maxMatches = 20

// findAnything redirects to an operation by its ID; to an event by whatever names it, as GET /find does, or by the end of its ID;
// to a destination, a subscription's destination or a provider by its name; and to an entity by provider/kind/id or by its ID
// alone. Several matches are listed. Anything else is searched for as a key.
func (c *Console) findAnything(ctx *fiber.Ctx) error {
	text := strings.TrimSpace(ctx.Query("q"))
	if text == "" {
		return ctx.Redirect(c.Prefix+eventsList, fiber.StatusSeeOther)
	}
	if path := c.operationNamed(ctx.UserContext(), text); path != "" {
		return ctx.Redirect(c.Prefix+path, fiber.StatusSeeOther)
	}
	found, err := c.find(ctx.UserContext(), text)
	if err != nil {
		return err
	}
	path := ""
	switch {
	case len(found.EventIDs) == 0 && len(found.Entities) < 2:
		path = cmp.Or(c.named(ctx.UserContext(), text), entityPathOf(found.Entities), eventsList+"?"+frame.Query("key", text))
	case len(found.EventIDs) == 0:
		path = c.named(ctx.UserContext(), text)
	case len(found.EventIDs) == 1 && len(found.Entities) == 0:
		path = eventPath(found.EventIDs[0])
	}
	if path != "" {
		return ctx.Redirect(c.Prefix+path, fiber.StatusSeeOther)
	}
	return c.Show(ctx, "found", frame.Page{Title: "Matches for " + text, Section: "Events", Data: found})
}

// find returns the events and entities that a text names.
func (c *Console) find(ctx context.Context, text string) (found matches, err error) {
	if found.EventIDs, err = c.findEvents(ctx, text); err != nil || c.API.Entities == nil {
		return found, err
	}
	if found.Entities, err = c.API.Entities.EntitiesNamed(ctx, text, maxMatches); err != nil || len(found.Entities) == 0 {
		return found, err
	}
	if slices.Equal(found.EventIDs, []string{text}) { // any UUID counts as the ID of an event, which may have left no row
		if _, err := c.API.Events.WorkflowsOf(ctx, text); errors.Is(err, event.ErrNotFound) {
			found.EventIDs = nil
		} else if err != nil {
			return found, err
		}
	}
	return found, nil
}

func (c *Console) findEvents(ctx context.Context, id string) ([]string, error) {
	found, err := c.API.Identify(ctx, id)
	var unknown *httpapi.RefusalError
	switch {
	case errors.Is(err, event.ErrNotFound):
		return nil, nil
	case !errors.As(err, &unknown):
		return found, err
	}
	tail := strings.ToLower(id)
	if _, after, isCut := strings.Cut(tail, "…"); isCut {
		tail = after
	}
	if !shownTail.MatchString(tail) {
		return nil, nil
	}
	return c.API.Events.EventsEndingWith(ctx, tail)
}

// shownTail matches the end of an event's ID, as shown in lists.
var shownTail = regexp.MustCompile(`^[0-9a-f]{6,12}$`)

// operationNamed returns the path of an operation's page by its ID, or by that of its workflow (kind/ID); "" for none.
func (c *Console) operationNamed(ctx context.Context, text string) string {
	for _, kind := range c.operationKinds() {
		id := strings.TrimPrefix(text, string(kind.kind)+"/")
		if found, err := kind.one(ctx, id); err == nil {
			return operationPath(found.Kind, id)
		}
	}
	return ""
}

// named returns the path of the page of a destination, also by its workflow (destination/NAME), of a subscription's destination,
// of a provider, or of an entity (provider/kind/id), or "". What can't be read counts as not found.
func (c *Console) named(ctx context.Context, text string) string {
	if out := c.API.Outbound; out != nil {
		if d, err := out.Destinations.Destination(ctx, strings.TrimPrefix(text, "destination/")); err == nil {
			return destinationPath(d.Name)
		}
		if s, err := out.Subscriptions.Subscription(ctx, text); err == nil {
			return destinationPath(s.To)
		}
	}
	if c.Definitions != nil {
		if _, ok := c.Definitions.Catalogue().Lookup(text); ok {
			return "/console/providers/" + pathEscape(text)
		}
	}
	parts := strings.SplitN(text, "/", 3)
	if c.API.Entities == nil || len(parts) < 3 {
		return ""
	}
	ref := event.EntityRef{Provider: parts[0], Kind: parts[1], ExternalID: parts[2]}
	if _, err := c.API.Entities.Entity(ctx, ref); err != nil {
		return ""
	}
	return entityPathOf([]event.EntityRef{ref})
}

// entityPathOf returns the path of an entity's page; "" unless there is exactly one.
func entityPathOf(found []event.EntityRef) string {
	if len(found) != 1 {
		return ""
	}
	e := found[0]
	return entitiesPath + "/" + pathEscape(e.Provider) + "/" + pathEscape(e.Kind) + "/" + pathEscape(e.ExternalID)
}
