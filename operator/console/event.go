package console

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/internal/printable"
	"holdfast/operator/api"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
)

// eventPage is one event with everything recorded about it.
type eventPage struct {
	api.EventDetail

	BodyView  bodyView
	Attempted []deliveryapi.AttemptView
	Conflicts []event.Conflict
	Audit     []oversight.AuditEntry
	// Waiting is the dead letter that can be replayed, or nil.
	Waiting *api.DeadLetterView
	Links   links
	// CanEdit reports whether the body is text, so a form can hold it.
	CanEdit  bool
	Commands []string
}

type bodyView struct {
	// Text is cut to api.MaxShown bytes if IsCut.
	Text  string
	IsCut bool
	// As is "parsed" or "raw".
	As string
	// IsBinary reports that the body isn't text.
	IsBinary bool
}

func (c *Console) showEvent(ctx *fiber.Ctx) error {
	detail, err := c.API.Event(ctx)
	if err != nil {
		return err
	}
	page := eventPage{
		EventDetail: detail, BodyView: viewBody(detail.Body, ctx.Query("body"), false),
		Links: c.linksOf(detail), CanEdit: canEdit(detail.Body.Raw),
	}
	for i, d := range detail.DeadLetters {
		if page.Waiting == nil && canRunAgain(d) {
			page.Waiting = &detail.DeadLetters[i]
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

// canRunAgain returns false for a failed delivery, which is resent instead.
func canRunAgain(d api.DeadLetterView) bool {
	return d.Subscription == "" && (d.State == event.DeadLetterOpen || d.State == event.DeadLetterExhausted)
}

// viewBody returns a body for a page: its beginning, unless all of it is wanted.
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
	if !all && len(v.Text) > api.MaxShown {
		v.Text, v.IsCut = printable.Beginning(v.Text, api.MaxShown), true
	}
	return v
}

// conflictsOf returns the events that were dropped because this one has their key.
func (c *Console) conflictsOf(ctx *fiber.Ctx, d api.EventDetail) ([]event.Conflict, error) {
	if c.API.Conflicts == nil || d.Key == "" {
		return nil, nil
	}
	return c.API.Conflicts.Conflicts(ctx.UserContext(), event.ConflictQuery{Provider: d.Provider, Key: d.Key, Limit: 50})
}

// auditOf returns the operators' actions on the event, if the caller may read the log.
func (c *Console) auditOf(ctx *fiber.Ctx, d api.EventDetail) ([]oversight.AuditEntry, error) {
	if !c.May(httpapi.CallerOf(ctx).Role, fiber.MethodGet, auditPath) {
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

// links lead to other sites.
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

// TookSince returns the time from the event's receipt until at.
func (p eventPage) TookSince(at time.Time) string { return frame.ShortDuration(at.Sub(p.ReceivedAt)) }

// AttemptsFailed reports whether any attempt failed: then the page shows the endpoints' responses without a click.
func (p eventPage) AttemptsFailed() bool {
	return slices.ContainsFunc(p.Attempted, func(a deliveryapi.AttemptView) bool { return !a.OK })
}

// maxObjects bounds how many objects of one event are looked up in the audit log.
const maxObjects = 20

// objectsOf returns the audited objects of an event: itself, its dead letters, its deliveries.
func objectsOf(d api.EventDetail) []string {
	all := []string{"event:" + d.ID}
	for _, deadLetter := range d.DeadLetters {
		all = append(all, "dead_letter:"+strconv.FormatInt(deadLetter.ID, 10))
	}
	for _, one := range d.Deliveries {
		all = append(all, fmt.Sprintf("delivery:%s/%d", one.EventID, one.SubscriptionID))
	}
	return all[:min(len(all), maxObjects)]
}

func commandsOf(p eventPage, base string) []string {
	commands := []string{
		"holdfast event show " + p.ID,
		`curl -H "Authorization: Bearer $TOKEN" ` + base + "/events/" + p.ID,
	}
	if p.Waiting != nil {
		number := strconv.FormatInt(p.Waiting.ID, 10)
		commands = append(commands, "holdfast dlq replay "+number, "holdfast dlq edit "+number+" --file FILE",
			`curl -X POST -H "Authorization: Bearer $TOKEN" `+base+"/dead-letters/"+number+"/replay")
	}
	for _, d := range p.Deliveries[:min(len(p.Deliveries), 3)] {
		commands = append(commands, "holdfast delivery resend "+p.ID+" "+d.Subscription)
	}
	return commands
}

func pathEscape(text string) string { return httpapi.PathSegment(text) }
