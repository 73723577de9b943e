package console

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/operator/api"
	"holdfast/operator/api/outgoing"
	"holdfast/operator/console/frame"
	"holdfast/operator/exchange"
)

// shownBody is how much of a body a page shows unless somebody wants all of it, in bytes.
const shownBody = 32 << 10

// eventPage is one event with all that is known of it.
type eventPage struct {
	api.EventDetail

	BodyView  bodyView
	Attempted []outgoing.AttemptView
	Conflicts []event.Conflict
	Audit     []oversight.AuditEntry
	// Waits is the dead letter that can be run again; nil where none waits.
	Waits *api.DeadLetterView
	Links links
	// CanEdit says that the body is text, which a form can hold.
	CanEdit  bool
	Commands []string
}

// bodyView is a body to read.
type bodyView struct {
	// Text is cut after Shown bytes where IsCut.
	Text  string
	IsCut bool
	// As is "parsed" or "raw".
	As string
	// IsBinary says that it is no text.
	IsBinary bool
}

func (c *Console) showEvent(ctx *fiber.Ctx) error {
	detail, err := c.API.Event(ctx)
	if err != nil {
		return err
	}
	page := eventPage{
		EventDetail: detail, BodyView: viewBody(detail.Body, ctx.Query("body"), ctx.Query("show") == "all"),
		Links: c.linksOf(detail), CanEdit: utf8.Valid(detail.Body.Raw),
	}
	for i, d := range detail.DeadLetters {
		if page.Waits == nil && canRunAgain(d) {
			page.Waits = &detail.DeadLetters[i]
		}
	}
	if c.API.Outbound != nil {
		attempts, err := c.API.Outbound.Attempts(ctx, detail.ID)
		if err != nil {
			return err
		}
		page.Attempted = attempts.Items
	}
	page.Commands = commandsOf(page, ctx.BaseURL()+c.Prefix)
	if page.Conflicts, err = c.conflictsOf(ctx, detail); err != nil {
		return err
	}
	if page.Audit, err = c.auditOf(ctx, detail); err != nil {
		return err
	}
	return c.Show(ctx, "event", frame.Page{Title: titleOfEvent(detail), Section: "Events", Data: page})
}

func titleOfEvent(d api.EventDetail) string {
	if d.Type == "" {
		return d.Provider + " event"
	}
	return d.Provider + " " + d.Type
}

// canRunAgain: a delivery that has failed is sent again instead.
func canRunAgain(d api.DeadLetterView) bool {
	return d.Subscription == "" && (d.State == event.DeadLetterOpen || d.State == event.DeadLetterExhausted)
}

func viewBody(content api.Content, as string, all bool) bodyView {
	v := bodyView{As: "parsed"}
	switch {
	case len(content.JSON) > 0 && as != "raw":
		v.Text = frame.Indented(content.JSON)
	case content.Raw != nil && utf8.Valid(content.Raw):
		v.As, v.Text = "raw", string(content.Raw)
	case content.Raw != nil:
		v.As, v.IsBinary = "raw", true
	}
	if !all && len(v.Text) > shownBody {
		v.Text, v.IsCut = strings.ToValidUTF8(v.Text[:shownBody], ""), true
	}
	return v
}

// conflictsOf are the events that were dropped because this one has their key.
func (c *Console) conflictsOf(ctx *fiber.Ctx, d api.EventDetail) ([]event.Conflict, error) {
	if c.API.Conflicts == nil || d.Key == "" {
		return nil, nil
	}
	return c.API.Conflicts.Conflicts(ctx.UserContext(), event.ConflictQuery{Provider: d.Provider, Key: d.Key, Limit: 50})
}

// auditOf is what operators did about the event, as far as its caller may see the log.
func (c *Console) auditOf(ctx *fiber.Ctx, d api.EventDetail) ([]oversight.AuditEntry, error) {
	if !c.May(exchange.CallerOf(ctx).Role, fiber.MethodGet, auditPath) {
		return nil, nil
	}
	var all []oversight.AuditEntry
	for _, object := range objectsOf(d) {
		entries, err := c.API.Audit.AuditLog(ctx.UserContext(), oversight.AuditQuery{Object: object, Limit: 20})
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	return all, nil
}

// links lead out of the console.
type links struct{ Workflow, Trace string }

func (c *Console) linksOf(d api.EventDetail) (l links) {
	if c.TemporalWeb != "" && d.Run.WorkflowID != "" {
		l.Workflow = api.WorkflowURL(c.TemporalWeb, c.Namespace, d.Run)
	}
	parts := strings.Split(d.Receipt.Trace, "-") // version, trace, span, flags
	if c.TraceURL != "" && len(parts) == 4 {
		l.Trace = strings.ReplaceAll(c.TraceURL, "{trace_id}", parts[1])
	}
	return l
}

// downloadBody gives the body byte for byte, as a file, so that no browser makes a page of it.
func (c *Console) downloadBody(ctx *fiber.Ctx) error {
	detail, err := c.API.Event(ctx)
	if err != nil {
		return err
	}
	name := detail.ID + ".bin"
	if json.Valid(detail.Body.Raw) {
		name = detail.ID + ".json"
	}
	ctx.Attachment(name)
	ctx.Set(fiber.HeaderContentType, fiber.MIMEOctetStream)
	return ctx.Send(detail.Body.Raw)
}

// TookSince is how long after its receipt something happened to the event.
func (p eventPage) TookSince(at time.Time) string { return frame.ShortDuration(at.Sub(p.ReceivedAt)) }

// AttemptsFailed reports whether any attempt failed: then the page shows what endpoints answered without a click.
func (p eventPage) AttemptsFailed() bool {
	return slices.ContainsFunc(p.Attempted, func(a outgoing.AttemptView) bool { return !a.OK })
}

// maxObjects bounds how many things of one event are looked for in the audit log.
const maxObjects = 20

// objectsOf are what the audit log may have of an event: itself, its dead letters, its deliveries.
func objectsOf(d api.EventDetail) []string {
	all := []string{"event:" + d.ID}
	for _, letter := range d.DeadLetters {
		all = append(all, "dead_letter:"+strconv.FormatInt(letter.ID, 10))
	}
	for _, one := range d.Deliveries {
		all = append(all, fmt.Sprintf("delivery:%s/%d", one.EventID, one.SubscriptionID))
	}
	return all[:min(len(all), maxObjects)]
}

// commandsOf are what one would type instead.
func commandsOf(p eventPage, base string) []string {
	commands := []string{
		"holdfast event show " + p.ID,
		`curl -H "Authorization: Bearer $TOKEN" ` + base + "/events/" + p.ID,
	}
	if p.Waits != nil {
		number := strconv.FormatInt(p.Waits.ID, 10)
		commands = append(commands, "holdfast dlq replay "+number, "holdfast dlq edit "+number+" --body FILE",
			`curl -X POST -H "Authorization: Bearer $TOKEN" `+base+"/dead-letters/"+number+"/replay")
	}
	for _, d := range p.Deliveries[:min(len(p.Deliveries), 3)] {
		commands = append(commands, "holdfast delivery send "+p.ID+" "+d.Subscription)
	}
	return commands
}

func pathEscape(text string) string { return url.PathEscape(text) }
