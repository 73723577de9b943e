package api

import (
	"cmp"
	"context"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/operator/httpapi"
)

// DeadLetterView is a dead letter in a list.
type DeadLetterView struct {
	ID       int64                 `json:"id"`
	EventID  string                `json:"event_id" jsonschema:"format=uuid"`
	Provider string                `json:"provider"`
	Source   string                `json:"source,omitempty"`
	Key      string                `json:"key"`
	Type     string                `json:"type"`
	State    event.DeadLetterState `json:"state"`
	Run      event.Run             `json:"run"`
	Failure  event.Failure         `json:"failure"`
	// Failures counts the failures of the event, over all its runs.
	Failures    int        `json:"failures"`
	ReceivedAt  time.Time  `json:"received_at"`
	FirstFailed time.Time  `json:"first_failed_at"`
	LastFailed  time.Time  `json:"last_failed_at"`
	ResolvedAt  *time.Time `json:"resolved_at,omitempty"`
	// ResolvedRun is the run that finally processed the event.
	ResolvedRun string `json:"resolved_run_id,omitempty"`
	// DuplicateOf is the event that it turned out to repeat when it ran again: nothing was processed a second time.
	DuplicateOf   string     `json:"duplicate_of,omitempty" jsonschema:"format=uuid"`
	DiscardedAt   *time.Time `json:"discarded_at,omitempty"`
	DiscardedBy   string     `json:"discarded_by,omitempty"`
	DiscardReason string     `json:"discard_reason,omitempty"`
	// ReplacedBy is the edited event that replaces this one, or the first of the events that a replay split it into.
	ReplacedBy string `json:"replaced_by,omitempty" jsonschema:"format=uuid"`
	// Replaces is the event that was edited to create this one.
	Replaces string `json:"replaces,omitempty" jsonschema:"format=uuid"`
	// Subscription is set if the step is deliver: the event itself is processed.
	Subscription string `json:"subscription,omitempty"`
	// AutoAttempts counts its automatic replays.
	AutoAttempts int `json:"auto_attempts,omitempty"`
	// NextReplayAt is when the next automatic replay is due; absent if none is planned.
	NextReplayAt *time.Time `json:"next_replay_at,omitempty"`
	// Rule is the definition's field that couldn't be evaluated.
	Rule string `json:"rule,omitempty"`
}

// ViewDeadLetter converts a dead letter for lists.
func ViewDeadLetter(d event.DeadLetter) DeadLetterView {
	return DeadLetterView{
		ID: d.ID, EventID: d.Receipt.ID, Provider: d.Receipt.Provider, Source: d.Receipt.Source, Key: d.Receipt.Key,
		Type: d.Receipt.Type, State: d.State, Run: d.Run, Failure: d.Failure, Failures: d.Failures, ReceivedAt: d.Receipt.ReceivedAt,
		FirstFailed: d.FirstFailed, LastFailed: d.LastFailed, ResolvedAt: d.ResolvedAt, ResolvedRun: d.ResolvedRun,
		DuplicateOf: d.DuplicateOf,
		DiscardedAt: d.DiscardedAt, DiscardedBy: d.DiscardedBy, DiscardReason: d.DiscardReason,
		ReplacedBy: d.ReplacedBy, Replaces: d.Receipt.Replaces, Subscription: d.Subscription, Rule: d.Failure.Rule(),
		AutoAttempts: d.AutoAttempts, NextReplayAt: d.NextReplayAt,
	}
}

// DeadLetterDetail is a dead letter with the received content.
type DeadLetterDetail struct {
	DeadLetterView

	Receipt event.Receipt `json:"receipt"`
	Body    Content       `json:"body"`
}

var (
	deadLetterID = httpapi.Parameter{
		Name: "id", About: "Number of the dead letter.", Schema: map[string]any{"type": "integer", "minimum": 1},
	}
	classParameter       = httpapi.ChoiceParameter("class", "Class of the error.", event.Classes())
	codeParameter        = httpapi.TextParameter("code", "Code of the error.")
	deadLetterParameters = []httpapi.Parameter{
		httpapi.ProviderParameter, httpapi.SourceParameter, httpapi.TypeParameter,
		httpapi.ChoiceParameter("state", "State of the dead letter.", event.DeadLetterStates()),
		classParameter, codeParameter,
		httpapi.ChoiceParameter("step", "Step that failed.", event.Steps()),
		httpapi.TextParameter("rule", "Field of the definition whose evaluation failed."),
		httpapi.TextParameter("subscription", "Subscription of a failed delivery."),
		httpapi.TextParameter("key", "Idempotency key; needs provider."),
		httpapi.UUIDParameter("event_id", "All dead letters of one event."),
		httpapi.ChoiceParameter("oldest", "The one that failed longest ago first.", []string{"true"}),
		httpapi.SinceParameter, httpapi.UntilParameter, httpapi.LimitParameter, httpapi.CursorParameter,
	}
)

func (a *API) deadLetterRoutes() []httpapi.Route {
	const path = "/dead-letters"
	return []httpapi.Route{
		httpapi.Get("listDeadLetters", path, "Dead letters, last failed first", a.listDeadLetters).
			Explain("since and until bound the last failure.").
			With(deadLetterParameters...).Returns(fiber.StatusOK, httpapi.List[DeadLetterView]{}),
		httpapi.Get("listCauses", path+"/causes", "Unresolved dead letters, grouped by cause", a.listCauses).
			Explain("Causes with the most dead letters come first, up to 500. Resolved and discarded dead letters don't count.").
			With(httpapi.ProviderParameter).Returns(fiber.StatusOK, httpapi.List[operation.Cause]{}),
		httpapi.Get("showDeadLetter", path+"/:id", "One dead letter with its body", a.showDeadLetter).
			With(deadLetterID).Returns(fiber.StatusOK, DeadLetterDetail{}),
		httpapi.Post("discardDeadLetter", path+"/:id/discard", "Discard a dead letter, with a reason",
			httpapi.Answers(a.DiscardDeadLetter)).
			With(deadLetterID).Takes(httpapi.Reasoned{}, "reason").Returns(fiber.StatusOK, DeadLetterView{}),
		httpapi.Post("reopenDeadLetter", path+"/:id/reopen", "Undo a discard: the dead letter is open again",
			httpapi.Answers(a.ReopenDeadLetter)).
			With(deadLetterID).MayTake(httpapi.Reasoned{}).Returns(fiber.StatusOK, DeadLetterView{}),
		httpapi.Delete("deleteDeadLetter", path+"/:id", "Delete a resolved or discarded dead letter", a.deleteDeadLetter).
			With(deadLetterID).MayTake(httpapi.Reasoned{}).Returns(fiber.StatusNoContent, nil),
		httpapi.Post("cleanUpDeadLetters", path+"/cleanup", "Delete dead letters that were resolved or discarded long ago",
			httpapi.Answers(a.CleanUpDeadLetters)).
			Takes(Cleanup{}, "older_than").Returns(fiber.StatusOK, CleanedUp{}),
	}
}

func (a *API) listDeadLetters(c *fiber.Ctx) error {
	return httpapi.RespondList(c, a.DeadLetterQuery, a.ListDeadLetters)
}

// DeadLetterQuery parses the query of a list of dead letters.
func (a *API) DeadLetterQuery(c *fiber.Ctx) (event.DeadLetterQuery, error) {
	q := httpapi.QueryOf(c, deadLetterParameters...)
	wanted := event.DeadLetterQuery{
		Provider: q.Text("provider"), Source: q.Source(), Type: q.Text("type"), Code: q.Text("code"),
		State: httpapi.Choose(q, "state", event.DeadLetterStates()), Class: httpapi.Choose(q, "class", event.Classes()),
		Step: httpapi.Choose(q, "step", event.Steps()), Rule: q.Text("rule"), Subscription: q.Text("subscription"),
		Limit: q.Limit(), Oldest: httpapi.Choose(q, "oldest", []string{"true"}) != "",
	}
	wanted.Since, wanted.Until = q.Period()
	if key := q.Text("key"); key != "" {
		if wanted.Provider == "" {
			q.Refuse("key") // keys are per provider
		}
		wanted.WorkflowID = event.WorkflowID(wanted.Provider, event.CanonicalKey(wanted.Provider, key))
	}
	if id := q.Text("event_id"); id != "" {
		if uuid.Validate(id) != nil {
			q.Refuse("event_id")
		}
		wanted.EventID = id
	}
	wanted.Before = httpapi.CursorOf(q, func(c event.DeadLetterCursor) bool {
		return c.ID > 0 && httpapi.IsStorable(c.LastFailed)
	})
	return wanted, q.Err
}

// ListDeadLetters returns one page of the matching dead letters.
func (a *API) ListDeadLetters(ctx context.Context, q event.DeadLetterQuery) (list httpapi.List[DeadLetterView], err error) {
	ctx, cancel := context.WithTimeout(ctx, httpapi.Timeout)
	defer cancel()
	q.Limit++ // one more shows whether there is a next page
	rows, err := a.DeadLetters.DeadLetters(ctx, q)
	if err != nil {
		return list, err
	}
	return httpapi.NewPage(rows, q.Limit-1, ViewDeadLetter, event.DeadLetter.Cursor), nil
}

func (a *API) listCauses(c *fiber.Ctx) error {
	q := httpapi.QueryOf(c, httpapi.ProviderParameter)
	if q.Err != nil {
		return q.Err
	}
	return httpapi.RespondWith(c, func(ctx context.Context) (httpapi.List[operation.Cause], error) {
		return httpapi.ListOf(a.DeadLetters.Causes(ctx, q.Text("provider")))
	})
}

func (a *API) showDeadLetter(c *fiber.Ctx) error {
	if q := httpapi.QueryOf(c); q.Err != nil {
		return q.Err
	}
	return httpapi.Respond(c, func(c *fiber.Ctx) (DeadLetterDetail, error) {
		detail, err := a.DeadLetter(c)
		detail.Body = detail.Body.Beginning()
		return detail, err
	})
}

// DeadLetter returns the dead letter in the request's path, with the received content that the caller may see.
func (a *API) DeadLetter(c *fiber.Ctx) (detail DeadLetterDetail, err error) {
	id, err := httpapi.PathNumber(c)
	if err != nil {
		return detail, err
	}
	d, err := a.DeadLetters.DeadLetter(httpapi.RequestContext(c), id)
	if err != nil {
		return detail, err
	}
	return a.DeadLetterDetail(d, httpapi.IsViewer(c)), nil
}

// DeadLetterDetail adds the received content that a viewer, or a role above, may see.
func (a *API) DeadLetterDetail(d event.DeadLetter, viewer bool) DeadLetterDetail {
	return DeadLetterDetail{
		DeadLetterView: ViewDeadLetter(d), Receipt: receipt(viewer, d.Receipt), Body: a.content(viewer, d.Receipt, d.Body),
	}
}

// changeOf parses the ID and the reason of a change of a dead letter.
func changeOf(c *fiber.Ctx) (id int64, by oversight.Actor, err error) {
	if id, err = httpapi.PathNumber(c); err != nil {
		return 0, by, err
	}
	var body httpapi.Reasoned
	err = httpapi.ReadChange(c, &body)
	return id, httpapi.Actor(c, body.Reason), err
}

// DiscardDeadLetter discards the dead letter in the path.
func (a *API) DiscardDeadLetter(c *fiber.Ctx) (view DeadLetterView, err error) {
	id, by, err := changeOf(c)
	if err == nil && by.Reason == "" {
		err = httpapi.MissingField("reason")
	}
	if err != nil {
		return view, err
	}
	return a.changed(c, id, by, a.DeadLetters.DiscardDeadLetter)
}

// ReopenDeadLetter undoes a discard of the dead letter in the path.
func (a *API) ReopenDeadLetter(c *fiber.Ctx) (view DeadLetterView, err error) {
	id, by, err := changeOf(c)
	if err != nil {
		return view, err
	}
	return a.changed(c, id, by, a.DeadLetters.ReopenDeadLetter)
}

// changed changes a dead letter and returns its new state.
func (a *API) changed(
	c *fiber.Ctx, id int64, by oversight.Actor, change func(context.Context, int64, oversight.Actor) error,
) (view DeadLetterView, err error) {
	ctx := httpapi.RequestContext(c)
	if err := change(ctx, id, by); err != nil {
		return view, err
	}
	d, err := a.DeadLetters.DeadLetter(ctx, id)
	return ViewDeadLetter(d), err
}

// DeleteDeadLetter deletes the dead letter in the path, without a response.
func (a *API) DeleteDeadLetter(c *fiber.Ctx) (id int64, err error) {
	id, by, err := changeOf(c)
	if err != nil {
		return 0, err
	}
	return id, a.DeadLetters.DeleteDeadLetter(httpapi.RequestContext(c), id, by)
}

func (a *API) deleteDeadLetter(c *fiber.Ctx) error {
	if _, err := a.DeleteDeadLetter(c); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}

// Cleanup is the body of a cleanup request.
type Cleanup struct {
	httpapi.Reasoned

	// OlderThan selects dead letters that were closed at least this long ago.
	OlderThan event.Duration `json:"older_than"`
	Provider  string         `json:"provider,omitempty"`
	// Limit is the max number of deletions.
	Limit int `json:"limit,omitempty" jsonschema:"minimum=1,maximum=1000,default=1000"`
}

// CleanedUp is the result of a cleanup.
type CleanedUp struct {
	Removed int64 `json:"removed"`
	// More reports that there may be more: repeat the request.
	More bool `json:"more"`
}

// ReadCleanup parses the body of a cleanup.
func ReadCleanup(c *fiber.Ctx) (body Cleanup, err error) {
	if err := httpapi.ReadChange(c, &body); err != nil {
		return body, err
	}
	switch {
	case body.OlderThan <= 0:
		err = httpapi.MissingField("older_than")
	case body.Limit < 0 || body.Limit > operation.MaxCleanup:
		err = httpapi.BadField("limit")
	case !httpapi.IsText(body.Provider) || len(body.Provider) > httpapi.MaxText:
		err = httpapi.BadField("provider")
	}
	return body, err
}

// CleanUpDeadLetters deletes the dead letters that a request selects.
func (a *API) CleanUpDeadLetters(c *fiber.Ctx) (done CleanedUp, err error) {
	body, err := ReadCleanup(c)
	if err != nil {
		return done, err
	}
	wanted := operation.Cleanup{
		Before: time.Now().Add(-time.Duration(body.OlderThan)), Provider: body.Provider, Limit: body.Limit,
	}
	removed, err := a.DeadLetters.CleanUpDeadLetters(httpapi.RequestContext(c), wanted, httpapi.Actor(c, body.Reason))
	return CleanedUp{Removed: removed, More: removed == int64(cmp.Or(body.Limit, operation.MaxCleanup))}, err
}
