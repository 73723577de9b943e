package api

import (
	"context"
	"encoding/base64"
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
	ID            int64                 `json:"id"`
	EventID       string                `json:"event_id"`
	Provider      string                `json:"provider"`
	Source        string                `json:"source,omitempty"`
	Key           string                `json:"key"`
	Type          string                `json:"type"`
	State         event.DeadLetterState `json:"state"`
	Run           event.Run             `json:"run"`
	Failure       event.Failure         `json:"failure"`
	Failures      int                   `json:"failures"`
	ReceivedAt    time.Time             `json:"received_at"`
	FirstFailed   time.Time             `json:"first_failed_at"`
	LastFailed    time.Time             `json:"last_failed_at"`
	ResolvedAt    *time.Time            `json:"resolved_at,omitempty"`
	ResolvedRun   string                `json:"resolved_run_id,omitempty"`
	DiscardedAt   *time.Time            `json:"discarded_at,omitempty"`
	DiscardedBy   string                `json:"discarded_by,omitempty"`
	DiscardReason string                `json:"discard_reason,omitempty"`
	ReplacedBy    string                `json:"replaced_by,omitempty"`
	Replaces      string                `json:"replaces,omitempty"`
	Subscription  string                `json:"subscription,omitempty"`
	// AutoAttempts counts its automatic redrives; NextRedriveAt is when the next one is due.
	AutoAttempts  int        `json:"auto_attempts,omitempty"`
	NextRedriveAt *time.Time `json:"next_redrive_at,omitempty"`
	// Rule is the definition's field that couldn't be evaluated.
	Rule string `json:"rule,omitempty"`
}

// ViewDeadLetter converts a dead letter for lists.
func ViewDeadLetter(d event.DeadLetter) DeadLetterView {
	return DeadLetterView{
		ID: d.ID, EventID: d.Receipt.ID, Provider: d.Receipt.Provider, Source: d.Receipt.Source, Key: d.Receipt.Key,
		Type: d.Receipt.Type, State: d.State, Run: d.Run, Failure: d.Failure, Failures: d.Failures, ReceivedAt: d.Receipt.ReceivedAt,
		FirstFailed: d.FirstFailed, LastFailed: d.LastFailed, ResolvedAt: d.ResolvedAt, ResolvedRun: d.ResolvedRun,
		DiscardedAt: d.DiscardedAt, DiscardedBy: d.DiscardedBy, DiscardReason: d.DiscardReason,
		ReplacedBy: d.ReplacedBy, Replaces: d.Receipt.Replaces, Subscription: d.Subscription, Rule: d.Failure.Rule(),
		AutoAttempts: d.AutoAttempts, NextRedriveAt: d.NextRedriveAt,
	}
}

// DeadLetterDetail is a dead letter with the received content.
type DeadLetterDetail struct {
	DeadLetterView

	Receipt event.Receipt `json:"receipt"`
	Body    Content       `json:"body"`
}

func (a *API) listDeadLetters(c *fiber.Ctx) error {
	return httpapi.RespondList(c, a.DeadLetterQuery, a.ListDeadLetters)
}

// DeadLetterQuery parses the query of a list of dead letters.
func (a *API) DeadLetterQuery(c *fiber.Ctx) (event.DeadLetterQuery, error) {
	q := httpapi.QueryOf(c, "provider", "source", "type", "state", "class", "code", "step", "rule", "subscription", "key",
		"event_id", "since", "until", "limit", "cursor")
	wanted := event.DeadLetterQuery{
		Provider: q.Text("provider"), Source: q.Source(), Type: q.Text("type"), Code: q.Text("code"),
		State: httpapi.Choose(q, "state", event.DeadLetterStates()), Class: httpapi.Choose(q, "class", event.Classes()),
		Step: httpapi.Choose(q, "step", event.Steps()), Rule: q.Text("rule"), Subscription: q.Text("subscription"),
		Limit: q.Limit(),
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
	q := httpapi.QueryOf(c, "provider")
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
	return httpapi.Respond(c, a.DeadLetter)
}

// DeadLetter returns the dead letter in the request's path, with the received content that the caller may see.
func (a *API) DeadLetter(c *fiber.Ctx) (detail DeadLetterDetail, err error) {
	id, err := httpapi.PathNumber(c)
	if err != nil {
		return detail, err
	}
	ctx, cancel := httpapi.RequestContext(c)
	defer cancel()
	d, err := a.DeadLetters.DeadLetter(ctx, id)
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

func (a *API) discardDeadLetter(c *fiber.Ctx) error {
	id, by, err := changeOf(c)
	if err != nil {
		return err
	}
	if by.Reason == "" {
		return httpapi.MissingField("reason")
	}
	return a.changed(c, id, by, a.DeadLetters.DiscardDeadLetter)
}

func (a *API) reopenDeadLetter(c *fiber.Ctx) error {
	id, by, err := changeOf(c)
	if err != nil {
		return err
	}
	return a.changed(c, id, by, a.DeadLetters.ReopenDeadLetter)
}

// changed changes a dead letter and responds with its new state.
func (a *API) changed(
	c *fiber.Ctx, id int64, by oversight.Actor, change func(context.Context, int64, oversight.Actor) error,
) error {
	ctx, cancel := httpapi.RequestContext(c)
	defer cancel()
	if err := change(ctx, id, by); err != nil {
		return err
	}
	d, err := a.DeadLetters.DeadLetter(ctx, id)
	if err != nil {
		return err
	}
	return c.JSON(ViewDeadLetter(d))
}

func (a *API) deleteDeadLetter(c *fiber.Ctx) error {
	id, by, err := changeOf(c)
	if err != nil {
		return err
	}
	ctx, cancel := httpapi.RequestContext(c)
	defer cancel()
	if err := a.DeadLetters.DeleteDeadLetter(ctx, id, by); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}

// cleanup is the body of a cleanup request.
type cleanup struct {
	httpapi.Reasoned

	// OlderThan selects dead letters that were closed at least this long ago.
	OlderThan event.Duration `json:"older_than"`
	Provider  string         `json:"provider"`
	Limit     int            `json:"limit"`
}

func (a *API) cleanUpDeadLetters(c *fiber.Ctx) error {
	var body cleanup
	if err := httpapi.ReadChange(c, &body); err != nil {
		return err
	}
	switch {
	case body.OlderThan <= 0:
		return httpapi.MissingField("older_than")
	case body.Limit < 0 || body.Limit > operation.MaxCleanup:
		return httpapi.BadField("limit")
	case !httpapi.IsText(body.Provider) || len(body.Provider) > httpapi.MaxText:
		return httpapi.BadField("provider")
	}
	ctx, cancel := httpapi.RequestContext(c)
	defer cancel()
	wanted := operation.Cleanup{
		Before: time.Now().Add(-time.Duration(body.OlderThan)), Provider: body.Provider, Limit: body.Limit,
	}
	removed, err := a.DeadLetters.CleanUpDeadLetters(ctx, wanted, httpapi.Actor(c, body.Reason))
	if err != nil {
		return err
	}
	most := int64(body.Limit)
	if most == 0 {
		most = operation.MaxCleanup
	}
	return c.JSON(fiber.Map{"removed": removed, "more": removed == most})
}

func (a *API) replayDeadLetter(c *fiber.Ctx) error {
	id, by, err := changeOf(c)
	if err != nil {
		return err
	}
	ctx, cancel := httpapi.RequestContext(c)
	defer cancel()
	started, err := a.Replays.Replay(ctx, id, by)
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusAccepted).JSON(started)
}

// edit is the body of an edit request: the event's new body as text, or in base64 if it isn't text.
type edit struct {
	httpapi.Reasoned

	Body       *string `json:"body"`
	BodyBase64 *string `json:"body_base64"`
}

func (e edit) bytes() ([]byte, error) {
	switch {
	case e.Body != nil && e.BodyBase64 != nil:
		return nil, httpapi.BadField("body_base64")
	case e.Body != nil:
		return sized([]byte(*e.Body), "body")
	case e.BodyBase64 != nil:
		body, err := base64.StdEncoding.Strict().DecodeString(*e.BodyBase64)
		if err != nil {
			return nil, httpapi.BadField("body_base64")
		}
		return sized(body, "body_base64")
	default:
		return nil, httpapi.MissingField("body")
	}
}

// maxEdited is the largest event body: the maximum that the ingress accepts.
const maxEdited = 1 << 20

func sized(body []byte, field string) ([]byte, error) {
	if len(body) > maxEdited {
		return nil, &httpapi.RefusalError{Code: httpapi.CodeTooLarge, Field: field}
	}
	return body, nil
}

func (a *API) editDeadLetter(c *fiber.Ctx) error {
	id, err := httpapi.PathNumber(c)
	if err != nil {
		return err
	}
	var body edit
	if err := httpapi.ReadChange(c, &body); err != nil {
		return err
	}
	edited, err := body.bytes()
	if err != nil {
		return err
	}
	eventID, err := uuid.NewV7()
	if err != nil {
		return err
	}
	ctx, cancel := httpapi.RequestContext(c)
	defer cancel()
	wanted := operation.Edit{DeadLetter: id, EventID: eventID.String(), Body: edited}
	started, err := a.Replays.EditAndReplay(ctx, wanted, httpapi.Actor(c, body.Reason))
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusAccepted).JSON(started)
}
