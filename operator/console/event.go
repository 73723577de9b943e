package console

import (
	"cmp"
	"context"
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
	"holdfast/internal/word"
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
	// CanEdit reports whether the caller sees the whole body.
	CanEdit  bool
	Commands []string
	// Follow is the path, without the prefix, of the followed part of the page as of a later version.
	Follow string
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
	page, err := c.eventPage(ctx)
	if err != nil {
		return err
	}
	return c.Show(ctx, "event", page.inFrame())
}

// followEvent responds with the followed part of an event's page, or with 204 if the caller has seen its version.
func (c *Console) followEvent(ctx *fiber.Ctx) error {
	id, err := httpapi.PathText(ctx, "id")
	if err != nil {
		return err
	}
	version, err := c.eventVersion(ctx, id)
	if err != nil {
		return err
	}
	if version != "" && version == ctx.Query("seen") {
		return ctx.SendStatus(fiber.StatusNoContent)
	}
	page, err := c.eventPage(ctx)
	if err != nil {
		return err
	}
	return c.Part(ctx, "event", "event-followed", eventPath(id), page.inFrame())
}

// sameFor is how long a page that shows how long ago something was, and what Temporal says, counts as the same.
const sameFor = 15 * time.Second

// eventVersion returns the version of an event's page; "" for an event that isn't named by its ID.
func (c *Console) eventVersion(ctx *fiber.Ctx, id string) (string, error) {
	if !api.IsID(id) {
		return "", nil
	}
	version, err := c.API.Events.EventVersion(ctx.UserContext(), id)
	return fmt.Sprintf("%s-%d", version, time.Now().Unix()/int64(sameFor.Seconds())), err
}

func (c *Console) eventPage(ctx *fiber.Ctx) (page eventPage, err error) {
	id, err := httpapi.PathText(ctx, "id")
	if err != nil {
		return page, err
	}
	version, err := c.eventVersion(ctx, id) // before the rest, so that no change is missed
	if err != nil {
		return page, err
	}
	detail, err := c.API.Event(ctx)
	if err != nil {
		return page, err
	}
	page = eventPage{
		EventDetail: detail, BodyView: viewBody(detail.Body, ctx.Query("body"), false),
		Links: c.linksOf(detail), CanEdit: !detail.Body.Redacted,
		Follow: eventPath(id) + "/live?" + frame.Query("seen", version),
	}
	for i, d := range detail.DeadLetters {
		if page.Waiting == nil && canRunAgain(d) {
			page.Waiting = &detail.DeadLetters[i]
		}
	}
	if c.API.Outbound != nil {
		attempts, err := c.API.Outbound.Attempts(ctx, detail.ID)
		if err != nil {
			return page, err
		}
		page.Attempted = attempts.Items
	}
	page.Commands = commandsOf(page, ctx.BaseURL()+c.Prefix)
	if page.Conflicts, err = c.conflictsOf(ctx.UserContext(), detail); err != nil {
		return page, err
	}
	page.Audit, err = c.auditOf(ctx, detail)
	return page, err
}

func (p eventPage) inFrame() frame.Page {
	return frame.Page{Title: titleOfEvent(p.EventDetail), Section: "Events", Data: p}
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

// conflictsOf returns the events that were dropped because this one has, or had before a correction, their key.
func (c *Console) conflictsOf(ctx context.Context, d api.EventDetail) (all []event.Conflict, err error) {
	for _, key := range []string{d.CorrectedKey, d.Key} {
		if c.API.Conflicts == nil || key == "" {
			continue
		}
		found, err := c.API.Conflicts.Conflicts(ctx, event.ConflictQuery{Provider: d.Provider, Key: key, Limit: 50})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
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

// moment is an entry of an event's timeline.
type moment struct {
	At time.Time
	// What happened, and more about it.
	What, Detail string
	// State is "bad" or "warn" for what went wrong, or "".
	State string
	// Path is the page about it, without the prefix, or "".
	Path string
}

// maxStepErrors bounds how many errors of steps the timeline shows; the page lists all of them below.
const maxStepErrors = 10

// IsReplaying reports whether a replay of the event has started and hasn't ended.
func (p eventPage) IsReplaying() bool {
	return slices.ContainsFunc(p.DeadLetters, func(d api.DeadLetterView) bool { return d.State == event.DeadLetterReplaying })
}

// IsOpen reports whether the event changes without an operator, so that its page follows it.
func (p eventPage) IsOpen() bool {
	if p.Wait != nil || p.IsReplaying() || p.Status != event.StatusProcessed && p.Status != event.StatusDead {
		return true
	}
	for _, d := range p.Deliveries {
		if d.DoneAt == nil {
			return true
		}
	}
	return false
}

// IsUndelivered reports that the event is dead and has no deliveries, because subscriptions are matched after processing. It is
// false for nil, which an API without destinations returns.
func (p eventPage) IsUndelivered() bool {
	return p.Status == event.StatusDead && p.Deliveries != nil && len(p.Deliveries) == 0
}

// After returns how long after the event's receipt something happened; "" for the receipt itself.
func (p eventPage) After(at time.Time) string {
	if at.Sub(p.ReceivedAt) < time.Millisecond {
		return ""
	}
	return "+" + frame.ShortDuration(at.Sub(p.ReceivedAt))
}

// Timeline lists what happened to the event, and what is due, the earliest first.
func (p eventPage) Timeline() []moment {
	all := []moment{{At: p.ReceivedAt, What: "Received", Detail: "from " + p.Provider}}
	all = slices.Concat(all, p.steps(), p.deadLetterMoments(), p.deliveryMoments(), p.operatorMoments())
	if d := p.Duplicates; d != nil {
		all = append(all, moment{
			At: d.LastSeen, What: "Redelivered", Detail: word.Count(d.Times, "time", "times") + " in total; processed once",
		})
	}
	slices.SortStableFunc(all, func(a, b moment) int { return a.At.Compare(b.At) })
	return all
}

func (p eventPage) steps() (all []moment) {
	for _, e := range p.Attempts[:min(len(p.Attempts), maxStepErrors)] {
		if p.isDeadLetters(e) {
			continue // the dead letter says the same
		}
		step := cmp.Or(e.Meta["step"], string(e.Phase))
		all = append(all, moment{
			At: e.At, What: "Failed in " + step, Detail: string(e.Class) + " " + e.Code + ": " + e.Message, State: "warn",
		})
	}
	if !p.PersistedAt.IsZero() {
		all = append(all, moment{At: p.PersistedAt, What: "Stored"})
	}
	if p.ProcessedAt == nil {
		return all
	}
	done := moment{At: *p.ProcessedAt, What: "Processed"}
	var changes []string
	for _, c := range p.Entities[:min(len(p.Entities), 3)] {
		changes = append(changes, c.Kind+" "+c.ExternalID+" ("+string(c.Op)+")")
	}
	if n := len(p.Entities) - len(changes); n > 0 {
		changes = append(changes, fmt.Sprintf("%d more", n))
	}
	if done.Detail = strings.Join(changes, ", "); done.Detail != "" {
		done.Detail = "changed " + done.Detail
	}
	return append(all, done)
}

// isDeadLetters reports whether an error is the one that a dead letter was made of, which is logged a moment later.
func (p eventPage) isDeadLetters(e oversight.ErrorEntry) bool {
	const moment = 5 * time.Second
	return slices.ContainsFunc(p.DeadLetters, func(d api.DeadLetterView) bool {
		return d.Failure.Code == e.Code && (e.At.Sub(d.FirstFailed).Abs() < moment || e.At.Sub(d.LastFailed).Abs() < moment)
	})
}

func (p eventPage) deadLetterMoments() (all []moment) {
	for _, d := range p.DeadLetters {
		name, path := "Dead letter "+strconv.FormatInt(d.ID, 10), "/console/dead-letters/"+strconv.FormatInt(d.ID, 10)
		all = append(all, moment{At: d.FirstFailed, What: name, Detail: d.Failure.Message, State: "bad", Path: path})
		if d.Failures > 1 {
			all = append(all, moment{At: d.LastFailed, What: name + " failed again", Detail: d.Failure.Message, State: "bad", Path: path})
		}
		if d.ResolvedAt != nil {
			all = append(all, moment{At: *d.ResolvedAt, What: name + " resolved", Path: path})
		}
		if d.DiscardedAt != nil {
			all = append(all, moment{At: *d.DiscardedAt, What: name + " discarded", Detail: d.DiscardReason, Path: path})
		}
		if d.NextReplayAt != nil {
			all = append(all, moment{At: *d.NextReplayAt, What: "Next automatic replay of dead letter " + strconv.FormatInt(d.ID, 10)})
		}
	}
	return all
}

func (p eventPage) deliveryMoments() (all []moment) {
	for _, a := range p.Attempted {
		one := moment{At: a.At, What: "Delivered to " + a.Subscription, Detail: a.Code + " in " + frame.Number(a.MS) + " ms"}
		if !a.OK {
			one.What, one.State = "Attempt for "+a.Subscription+" failed", "warn"
			one.Detail = strings.TrimSuffix(a.Code+": "+a.Error, ": ")
		}
		all = append(all, one)
	}
	for _, d := range p.Deliveries {
		path := destinationPath(d.Destination)
		switch {
		case d.DoneAt != nil && d.Status != "delivered":
			all = append(all, moment{
				At: *d.DoneAt, What: "Delivery to " + d.Subscription + " " + string(d.Status), Detail: d.Error, Path: path,
			})
		case d.DoneAt == nil && d.DueAt != nil:
			all = append(all, moment{
				At: *d.DueAt, What: "Next attempt for " + d.Subscription, Path: path,
				Detail: strings.TrimSuffix(string(d.Status)+", blocked: "+blockedBy[d.Waits], ", blocked: "),
			})
		}
	}
	return all
}

// blockedBy explains delivery.Delivery.Waits.
var blockedBy = map[string]string{
	"paused": "the destination is paused", "disabled": "the destination is disabled", "breaker": "its breaker is open",
	"full": "the destination has its max in flight", "rate": "the destination's rate limit",
	"busy": "the endpoint asked for a pause", "order": "an earlier delivery of its key",
	"unsorted": "a transaction that began earlier and is still open", "key_paused": "its key is paused",
}

func (p eventPage) operatorMoments() (all []moment) {
	for _, a := range p.Audit {
		all = append(all, moment{At: a.At, What: string(a.Action), Detail: strings.TrimSuffix("by "+a.Actor+": "+a.Reason, ": ")})
	}
	return all
}
