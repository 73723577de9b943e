package console

import (
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"holdfast/event/oversight"
	"holdfast/operator/console/frame"
)

const auditPath = "/console/audit"

func (c *Console) auditRoutes() []route {
	if c.API.Audit == nil {
		return nil
	}
	return []route{{"GET", auditPath, c.listAudit}}
}

type auditPage struct {
	Filter  url.Values
	Actions []oversight.AuditAction
	Rows    []oversight.AuditEntry
	Pager   frame.Pager
}

func (c *Console) listAudit(ctx *fiber.Ctx) error {
	wanted, err := c.API.AuditQuery(ctx)
	if err != nil {
		return err
	}
	list, err := c.API.ListAudit(ctx.UserContext(), wanted)
	if err != nil {
		return err
	}
	data := auditPage{
		Filter: frame.QueryOf(ctx), Actions: oversight.AuditActions(), Rows: list.Items, Pager: c.Pager(ctx, list.Next),
	}
	return c.Show(ctx, "audit", frame.Page{Title: "Audit", Section: "Audit", Data: data})
}

// objectPath returns the console's page of an audited object, with the prefix, or "" if there is none.
func (c *Console) objectPath(object string) string {
	kind, id, _ := strings.Cut(object, ":")
	switch kind {
	case "dead_letter":
		return c.URL(deadLettersPath+"/%s", id)
	case "event":
		return c.URL("/console/events/%s", id)
	case "replay", "rebuild", "resend", "import":
		return c.URL(operationsPath+"/%s/%s", kind+"s", id)
	case "destination":
		return c.URL("/console/destinations/%s", id)
	case "event_type":
		return c.URL("/console/event-types/%s", id)
	case "delivery":
		eventID, _, _ := strings.Cut(id, "/")
		return c.URL("/console/events/%s", eventID)
	}
	return ""
}
