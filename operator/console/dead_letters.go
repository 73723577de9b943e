package console

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/internal/lint"
	"holdfast/operator/api"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
)

const (
	deadLettersPath    = "/console/dead-letters"
	deadLetterListPath = deadLettersPath + "/list"
	deadLetters        = "Dead letters"
)

func (c *Console) deadLetterRoutes() []route {
	if c.API.DeadLetters == nil {
		return nil
	}
	all := []route{
		{"GET", deadLettersPath, c.listCauses},
		{"GET", deadLetterListPath, c.listDeadLetters},
		{"GET", deadLettersPath + "/selected", c.confirmSelected},
		{"POST", deadLettersPath + "/selected", c.changeSelected},
		{"GET", deadLettersPath + "/cleanup", c.confirmCleanup},
		{"POST", deadLettersPath + "/cleanup", c.cleanUp},
	}
	if c.API.Replays != nil {
		all = append(all,
			route{"GET", deadLettersPath + "/replay", c.planReplay},
			route{"POST", deadLettersPath + "/replay", c.startReplay})
	}
	return append(all,
		route{"GET", deadLettersPath + "/:id", c.showDeadLetter},
		route{"POST", deadLettersPath + "/:id/replay", c.replayDeadLetter},
		route{"GET", deadLettersPath + "/:id/discard", c.confirmDiscard},
		route{"POST", deadLettersPath + "/:id/discard", c.discardDeadLetter},
		route{"GET", deadLettersPath + "/:id/reopen", c.confirmReopen},
		route{"POST", deadLettersPath + "/:id/reopen", c.reopenDeadLetter},
		route{"GET", deadLettersPath + "/:id/delete", c.confirmDelete},
		route{"POST", deadLettersPath + "/:id/delete", c.deleteDeadLetter})
}

// causePage groups the waiting dead letters by cause.
type causePage struct {
	Chips       frame.Filters
	Provider    string
	Suggestions suggestions
	Causes      []causeRow
	// Waiting and Replaying count over all causes.
	Waiting, Replaying int64
}

type causeRow struct {
	operation.Cause

	// Filter is the cause's query without a state.
	Filter string
}

// causeLink leads to the dead letters of a cause in one state.
type causeLink struct{ Name, Path string }

// Links lead to the dead letters of the cause, by state.
func (r causeRow) Links() (links []causeLink) {
	for _, state := range []struct {
		is event.DeadLetterState
		n  int64
	}{{event.DeadLetterOpen, r.Open}, {event.DeadLetterExhausted, r.Exhausted}, {event.DeadLetterReplaying, r.Replaying}} {
		if state.n > 0 {
			name := frame.Number(state.n) + " " + string(state.is)
			links = append(links, causeLink{name, deadLetterListPath + "?" + r.Filter + "&" + frame.Query("state", string(state.is))})
		}
	}
	return links
}

func (c *Console) listCauses(ctx *fiber.Ctx) error {
	data := causePage{Provider: ctx.Query("provider")}
	causes, err := c.API.DeadLetters.Causes(ctx.UserContext(), data.Provider)
	if err != nil {
		return err
	}
	if data.Suggestions, err = c.suggestions(ctx.UserContext()); err != nil {
		return err
	}
	for _, cause := range causes {
		data.Causes = append(data.Causes, causeRow{cause, filterValues(cause.Filter()).Encode()})
		data.Waiting += cause.Waiting()
		data.Replaying += cause.Replaying
	}
	counts := c.deadLetterCounts(ctx.UserContext(), event.DeadLetterQuery{Provider: data.Provider})
	data.Chips = deadLetterChips(filterValues(operation.ReplayFilter{Provider: data.Provider}), counts)
	data.Chips.Set = frame.NewFilters(deadLettersPath, frame.QueryOf(ctx), frame.States{}, nil).Set
	data.Chips.States = data.Chips.States[1:] // the page shows those that need an operator, not all
	return c.Show(ctx, "causes", frame.Page{Title: deadLetters, Section: deadLetters, Data: data})
}

func filterValues(f operation.ReplayFilter) url.Values {
	values := url.Values{}
	for _, fact := range factsOf(f) {
		values.Set(fact.Name(), fact.Value())
	}
	return values
}

// factsOf returns the parts of a filter that are set.
func factsOf(f operation.ReplayFilter) (facts []frame.Fact) {
	for _, fact := range []frame.Fact{
		{"provider", f.Provider}, {"source", f.Source}, {"type", f.Type}, {"step", string(f.Step)}, {"class", string(f.Class)},
		{"code", f.Code}, {"rule", f.Rule}, {"subscription", f.Subscription}, {"state", string(f.State)},
		{"since", frame.InstantText(f.Since)}, {"until", frame.InstantText(f.Until)},
	} {
		if fact.Value() != "" {
			facts = append(facts, fact)
		}
	}
	return facts
}

type deadLetterList struct {
	Filter      url.Values
	Chips       frame.Filters
	Classes     []event.Class
	Steps       []event.Step
	Suggestions suggestions
	Rows        []api.DeadLetterView
	Pager       frame.Pager
	// Query is the list's query, for the way back to it.
	Query string
	// All counts the dead letters that match the filter and that a replay would run; Replay is its query. 0 if the list also
	// has others.
	All    int64
	Replay string
	// Others counts the dead letters in the list's state that the replay leaves out; 0 if that is unknown.
	Others int64
}

func (c *Console) listDeadLetters(ctx *fiber.Ctx) error {
	wanted, err := c.API.DeadLetterQuery(ctx)
	if err != nil {
		return err
	}
	list, err := c.API.ListDeadLetters(ctx.UserContext(), wanted)
	if err != nil {
		return err
	}
	data := deadLetterList{
		Filter: frame.QueryOf(ctx), Classes: event.Classes(), Steps: event.Steps(),
		Rows: list.Items, Pager: c.Pager(ctx, list.Next), Query: string(ctx.Request().URI().QueryString()),
	}
	if data.Suggestions, err = c.suggestions(ctx.UserContext()); err != nil {
		return err
	}
	if f, ok := replayOf(wanted); ok && c.API.Replays != nil {
		plan, err := c.API.Replays.Count(ctx.UserContext(), f)
		if err != nil {
			return err
		}
		data.All, data.Replay = plan.Count, filterValues(f).Encode()
	}
	counts := c.deadLetterCounts(ctx.UserContext(), wanted)
	data.Chips = deadLetterChips(data.Filter, counts)
	if n := counts[string(wanted.State)]; data.Replay != "" && !n.AtLeast {
		data.Others = max(0, n.N-data.All)
	}
	return c.Show(ctx, "dead_letters", frame.Page{Title: deadLetters, Section: deadLetters, Data: data})
}

func (c *Console) deadLetterCounts(ctx context.Context, of event.DeadLetterQuery) event.Counts {
	return c.countsOf(ctx, func(ctx context.Context, counter api.ListCounter) (event.Counts, error) {
		return counter.DeadLetterCounts(ctx, of)
	})
}

// deadLetterChips returns the filters of a list of dead letters. A source and a key are those of a provider.
func deadLetterChips(filter url.Values, counts event.Counts) frame.Filters {
	states := frame.States{Parameter: "state", Names: namesOf(event.DeadLetterStates()), Counts: counts}
	return frame.NewFilters(deadLetterListPath, filter, states, map[string][]string{"provider": {"source", "key"}})
}

// replayOf returns the replay that covers exactly what a list shows, if there is one.
func replayOf(q event.DeadLetterQuery) (f operation.ReplayFilter, ok bool) {
	waits := q.State == event.DeadLetterOpen || q.State == event.DeadLetterExhausted
	return operation.ReplayFilter{
		Provider: q.Provider, Source: q.Source, Type: q.Type, Class: q.Class, Code: q.Code, Step: q.Step, Rule: q.Rule,
		Subscription: q.Subscription, State: q.State, Since: q.Since, Until: q.Until,
	}, waits && q.EventID == "" && q.WorkflowID == ""
}

type deadLetterPage struct {
	api.DeadLetterDetail

	BodyView bodyView
	Links    links
	Errors   []oversight.ErrorEntry
	Audit    []oversight.AuditEntry
	// Waiting reports whether it can be replayed or discarded, CanEdit whether the caller may edit its body.
	Waiting, CanEdit bool
	// CanFetch reports whether the definition fetches the state behind events.
	CanFetch bool
	// CanTry reports whether it can be parsed with the current definition. If that was asked for, Tried is the result, or the
	// console is Busy.
	CanTry, Busy bool
	Tried        *lint.ParsedAgain
	// CanReopen reports whether a discard can be undone, IsClosed whether it may be deleted.
	CanReopen, IsClosed bool
}

// IsReplayNext reports whether a replay is the next step, since nothing says that it would fail again. If it can be tried first,
// that is.
func (p deadLetterPage) IsReplayNext() bool {
	return !p.CanTry || p.Tried != nil && p.Tried.DeadLetter == nil
}

// NeedsComparison reports whether the dead letter may repeat another event, so that an operator must compare the two.
func (p deadLetterPage) NeedsComparison() bool {
	return p.Failure.Class == event.ClassInDoubt || p.Failure.Class == event.ClassConflict
}

// maxErrors is how many of its event's errors a page shows.
const maxErrors = 50

func (c *Console) fetches(provider string) bool {
	if c.Definitions == nil {
		return false
	}
	p, ok := c.Definitions.Catalogue().Lookup(provider)
	return ok && len(p.Fetches()) > 0
}

func (c *Console) showDeadLetter(ctx *fiber.Ctx) error {
	d, err := c.API.DeadLetter(ctx)
	if err != nil {
		return err
	}
	waits := d.State == event.DeadLetterOpen || d.State == event.DeadLetterExhausted
	page := deadLetterPage{
		DeadLetterDetail: d, BodyView: viewBody(d.Body, ctx.Query("body"), false),
		Links:   c.linksOf(api.EventDetail{EventView: api.EventView{Run: d.Run}, Receipt: d.Receipt}),
		Waiting: waits, CanEdit: waits && canRunAgain(d.DeadLetterView) && !d.Body.Redacted,
		CanFetch: c.fetches(d.Provider), CanReopen: d.State == event.DeadLetterDiscarded && d.ReplacedBy == "",
		IsClosed: d.State == event.DeadLetterDiscarded || d.State == event.DeadLetterResolved,
	}
	page.CanTry = waits && c.Definitions != nil && d.Subscription == "" && !d.Body.Redacted
	if page.CanTry && ctx.Query("try") != "" {
		if page.Tried = c.tryDeadLetter(ctx.UserContext(), d); page.Tried == nil {
			page.Busy = true
			ctx.Status(fiber.StatusServiceUnavailable)
		}
	}
	if c.API.Errors != nil {
		page.Errors, err = c.API.Errors.Errors(ctx.UserContext(), oversight.ErrorQuery{EventID: d.EventID, Limit: maxErrors})
		if err != nil {
			return err
		}
	}
	if c.May(httpapi.CallerOf(ctx).Role, fiber.MethodGet, auditPath) {
		of := oversight.AuditQuery{Object: "dead_letter:" + strconv.FormatInt(d.ID, 10), Limit: maxErrors}
		if page.Audit, err = c.API.Audit.AuditLog(ctx.UserContext(), of); err != nil {
			return err
		}
	}
	return c.Show(ctx, "dead_letter", frame.Page{Title: fmt.Sprintf("Dead letter %d", d.ID), Section: deadLetters, Data: page})
}

// tryDeadLetter parses a dead letter with the current definition; nil if the console is busy.
func (c *Console) tryDeadLetter(ctx context.Context, d api.DeadLetterDetail) *lint.ParsedAgain {
	done, ok := c.startTrying(ctx)
	if !ok {
		return nil
	}
	defer done()
	tried := lint.ParseAgain(c.Definitions.Catalogue(), d.Receipt, d.Body.Raw)
	return &tried
}

func deadLetterPath(id int64) string { return deadLettersPath + "/" + strconv.FormatInt(id, 10) }

// replayDeadLetter redirects to the event, which shows the outcome.
func (c *Console) replayDeadLetter(ctx *fiber.Ctx) error {
	started, err := c.API.ReplayDeadLetter(ctx)
	if err != nil {
		return err
	}
	text := "Replaying."
	if started.Run.RunID != "" {
		text = "A run of the event was started: " + started.Run.RunID
	}
	return c.Done(ctx, eventPath(started.EventID), text)
}

func (c *Console) confirmDiscard(ctx *fiber.Ctx) error {
	return c.confirmDeadLetter(ctx, frame.Confirm{
		Title: "Discard", Question: "The event won't be processed, and its effects on entities are undone. " +
			"The dead letter stays, with your reason.",
		Button: "Discard the event", Reason: "required", Destroys: true,
	}, "/discard")
}

func (c *Console) confirmReopen(ctx *fiber.Ctx) error {
	return c.confirmDeadLetter(ctx, frame.Confirm{
		Title: "Reopen", Question: "Undoes the discard: the dead letter is open again.",
		Button: "Reopen it", Reason: "optional",
	}, "/reopen")
}

func (c *Console) confirmDeadLetter(ctx *fiber.Ctx, q frame.Confirm, verb string) error {
	d, err := c.API.DeadLetter(ctx)
	if err != nil {
		return err
	}
	q.Title += fmt.Sprintf(" dead letter %d", d.ID)
	q.Section, q.Back, q.Action = deadLetters, deadLetterPath(d.ID), deadLetterPath(d.ID)+verb
	q.Facts = []frame.Fact{
		{"Event", d.EventID}, {"Provider", d.Provider}, {"Type", d.Type}, {"State", string(d.State)}, {"Failed for", d.Failure.Message},
	}
	return c.Ask(ctx, q)
}

func (c *Console) discardDeadLetter(ctx *fiber.Ctx) error {
	return c.changeDeadLetter(ctx, c.API.DiscardDeadLetter, "Discarded.")
}

func (c *Console) reopenDeadLetter(ctx *fiber.Ctx) error {
	return c.changeDeadLetter(ctx, c.API.ReopenDeadLetter, "Reopened.")
}

func (c *Console) changeDeadLetter(ctx *fiber.Ctx, change func(*fiber.Ctx) (api.DeadLetterView, error), done string) error {
	d, err := change(ctx)
	if err != nil {
		return err
	}
	return c.Done(ctx, deadLetterPath(d.ID), done)
}

func (c *Console) confirmDelete(ctx *fiber.Ctx) error {
	return c.confirmDeadLetter(ctx, frame.Confirm{
		Title: "Remove", Question: "Deletes the dead letter and its body permanently. The decision about its event is kept.",
		Button: "Remove it", Reason: "optional", Destroys: true,
	}, "/delete")
}

// deleteDeadLetter redirects to the event, which may still exist.
func (c *Console) deleteDeadLetter(ctx *fiber.Ctx) error {
	id, err := c.API.DeleteDeadLetter(ctx)
	if err != nil {
		return err
	}
	return c.Done(ctx, deadLettersPath, fmt.Sprintf("Dead letter %d is removed.", id))
}

func (c *Console) confirmCleanup(ctx *fiber.Ctx) error {
	wanted, err := api.ReadCleanup(ctx)
	if err != nil {
		return err
	}
	return c.Ask(ctx, frame.Confirm{
		Section: deadLetters, Title: "Remove closed dead letters",
		Question: "Dead letters that were resolved or discarded before that time are deleted permanently, with their bodies. " +
			"Pending deliveries are kept.",
		Facts: []frame.Fact{
			{"Closed before", time.Now().Add(-time.Duration(wanted.OlderThan)).UTC().Format(time.RFC3339)},
			{"Provider", orAll(wanted.Provider)},
			{"Max per request", frame.Number(operation.MaxCleanup)},
		},
		Action: deadLettersPath + "/cleanup", Button: "Remove them", Reason: "optional", Destroys: true, Back: deadLettersPath,
		Fields: []frame.Fact{{"older_than", ctx.FormValue("older_than")}, {"provider", wanted.Provider}},
	})
}

func (c *Console) cleanUp(ctx *fiber.Ctx) error {
	done, err := c.API.CleanUpDeadLetters(ctx)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d closed dead letters are removed.", done.Removed)
	if done.More {
		text += " There may be more: do it again."
	}
	return c.Done(ctx, deadLettersPath, text)
}
