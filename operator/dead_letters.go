package operator

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
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
	// AutoAttempts is how often it was run again by itself, NextRedriveAt when it will be the next time.
	AutoAttempts  int        `json:"auto_attempts,omitempty"`
	NextRedriveAt *time.Time `json:"next_redrive_at,omitempty"`
	// Rule is the field of the definition that could not be evaluated.
	Rule string `json:"rule,omitempty"`
}

// ViewDeadLetter is a dead letter as lists show it.
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

// DeadLetterDetail is one dead letter with what was received.
type DeadLetterDetail struct {
	DeadLetterView

	Receipt event.Receipt `json:"receipt"`
	Body    Content       `json:"body"`
}

func (a *API) listDeadLetters(c *fiber.Ctx) error {
	wanted, err := a.DeadLetterQuery(c)
	if err != nil {
		return err
	}
	list, err := a.ListDeadLetters(c.UserContext(), wanted)
	if err != nil {
		return err
	}
	return c.JSON(list)
}

// DeadLetterQuery is what a request for a list of dead letters asks for.
func (a *API) DeadLetterQuery(c *fiber.Ctx) (event.DeadLetterQuery, error) {
	q := queryOf(c, "provider", "source", "type", "state", "class", "code", "step", "rule", "subscription", "key", "event_id",
		"since", "until", "limit", "cursor")
	wanted := event.DeadLetterQuery{
		Provider: q.text("provider"), Source: q.source(), Type: q.text("type"), Code: q.text("code"),
		State: choose(q, "state", event.DeadLetterStates()), Class: choose(q, "class", event.Classes()),
		Step: choose(q, "step", event.Steps()), Rule: q.text("rule"), Subscription: q.text("subscription"),
		Limit: q.limit(),
	}
	wanted.Since, wanted.Until = q.period()
	if key := q.text("key"); key != "" {
		if wanted.Provider == "" {
			q.refuse("key") // a key is one of a provider
		}
		wanted.WorkflowID = event.WorkflowID(wanted.Provider, event.CanonicalKey(wanted.Provider, key))
	}
	if id := q.text("event_id"); id != "" {
		if uuid.Validate(id) != nil {
			q.refuse("event_id")
		}
		wanted.EventID = id
	}
	wanted.Before = cursorOf(q, func(c event.DeadLetterCursor) bool { return c.ID > 0 && isStorable(c.LastFailed) })
	return wanted, q.err
}

// ListDeadLetters is one page of the dead letters that a query asks for.
func (a *API) ListDeadLetters(ctx context.Context, q event.DeadLetterQuery) (list List[DeadLetterView], err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	q.Limit++ // one more says that there is a next page
	rows, err := a.DeadLetters.DeadLetters(ctx, q)
	if err != nil {
		return list, err
	}
	return Cut(rows, q.Limit-1, ViewDeadLetter, event.DeadLetter.Cursor), nil
}

func (a *API) listCauses(c *fiber.Ctx) error {
	q := queryOf(c, "provider")
	if q.err != nil {
		return q.err
	}
	ctx, cancel := within(c)
	defer cancel()
	causes, err := a.DeadLetters.Causes(ctx, q.text("provider"))
	if err != nil {
		return err
	}
	return c.JSON(List[operation.Cause]{Items: append([]operation.Cause{}, causes...)})
}

func (a *API) showDeadLetter(c *fiber.Ctx) error {
	if q := queryOf(c); q.err != nil {
		return q.err
	}
	return answer(c, a.DeadLetter)
}

// DeadLetter is the dead letter that the path of a request names, with what its caller may see of what was received.
func (a *API) DeadLetter(c *fiber.Ctx) (detail DeadLetterDetail, err error) {
	id, err := pathNumber(c)
	if err != nil {
		return detail, err
	}
	ctx, cancel := within(c)
	defer cancel()
	d, err := a.DeadLetters.DeadLetter(ctx, id)
	if err != nil {
		return detail, err
	}
	return a.DeadLetterDetail(d, isViewer(c)), nil
}

// DeadLetterDetail is a dead letter with what was received, as far as a viewer, or anybody else, may see it.
func (a *API) DeadLetterDetail(d event.DeadLetter, viewer bool) DeadLetterDetail {
	return DeadLetterDetail{
		DeadLetterView: ViewDeadLetter(d), Receipt: receipt(viewer, d.Receipt), Body: a.content(viewer, d.Receipt, d.Body),
	}
}

// reasoned is the body of a change that takes a reason.
type reasoned struct {
	Reason string `json:"reason"`
}

func (r reasoned) check() error {
	if len(r.Reason) > maxText || !isText(r.Reason) {
		return refuseField(codeBadField, "reason")
	}
	return nil
}

// changeOf reads a change of one dead letter: its number and its reason.
func changeOf(c *fiber.Ctx) (id int64, by oversight.Actor, err error) {
	if id, err = pathNumber(c); err != nil {
		return 0, by, err
	}
	var body reasoned
	err = readChange(c, &body)
	return id, actor(c, body.Reason), err
}

func (a *API) discardDeadLetter(c *fiber.Ctx) error {
	id, by, err := changeOf(c)
	if err != nil {
		return err
	}
	if by.Reason == "" {
		return refuseField(codeMissingField, "reason")
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

// changed makes a change of a dead letter, and answers with what that is then.
func (a *API) changed(
	c *fiber.Ctx, id int64, by oversight.Actor, change func(context.Context, int64, oversight.Actor) error,
) error {
	ctx, cancel := within(c)
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
	ctx, cancel := within(c)
	defer cancel()
	if err := a.DeadLetters.DeleteDeadLetter(ctx, id, by); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}

// cleanup is the body of a cleanup.
type cleanup struct {
	reasoned

	// OlderThan is a duration: how long ago a dead letter must have been closed.
	OlderThan event.Duration `json:"older_than"`
	Provider  string         `json:"provider"`
	Limit     int            `json:"limit"`
}

func (a *API) cleanUpDeadLetters(c *fiber.Ctx) error {
	var body cleanup
	if err := readChange(c, &body); err != nil {
		return err
	}
	switch {
	case body.OlderThan <= 0:
		return refuseField(codeMissingField, "older_than")
	case body.Limit < 0 || body.Limit > operation.MaxCleanup:
		return refuseField(codeBadField, "limit")
	case !isText(body.Provider) || len(body.Provider) > maxText:
		return refuseField(codeBadField, "provider")
	}
	ctx, cancel := within(c)
	defer cancel()
	wanted := operation.Cleanup{
		Before: time.Now().Add(-time.Duration(body.OlderThan)), Provider: body.Provider, Limit: body.Limit,
	}
	removed, err := a.DeadLetters.CleanUpDeadLetters(ctx, wanted, actor(c, body.Reason))
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
	ctx, cancel := within(c)
	defer cancel()
	started, err := a.Replays.Replay(ctx, id, by)
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusAccepted).JSON(started)
}

// edit is the body of an edit: the new body of the event as text, or in base64 where it is none.
type edit struct {
	reasoned

	Body       *string `json:"body"`
	BodyBase64 *string `json:"body_base64"`
}

// bytes is the new body of the event.
func (e edit) bytes() ([]byte, error) {
	switch {
	case e.Body != nil && e.BodyBase64 != nil:
		return nil, refuseField(codeBadField, "body_base64")
	case e.Body != nil:
		return sized([]byte(*e.Body), "body")
	case e.BodyBase64 != nil:
		body, err := base64.StdEncoding.Strict().DecodeString(*e.BodyBase64)
		if err != nil {
			return nil, refuseField(codeBadField, "body_base64")
		}
		return sized(body, "body_base64")
	default:
		return nil, refuseField(codeMissingField, "body")
	}
}

// maxEdited is the largest body of an event: what the ingress accepts at most.
const maxEdited = 1 << 20

func sized(body []byte, field string) ([]byte, error) {
	if len(body) > maxEdited {
		return nil, refuseField(codeTooLarge, field)
	}
	return body, nil
}

func (a *API) editDeadLetter(c *fiber.Ctx) error {
	id, err := pathNumber(c)
	if err != nil {
		return err
	}
	var body edit
	if err := readChange(c, &body); err != nil {
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
	ctx, cancel := within(c)
	defer cancel()
	wanted := operation.Edit{DeadLetter: id, EventID: eventID.String(), Body: edited}
	started, err := a.Replays.EditAndReplay(ctx, wanted, actor(c, body.Reason))
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusAccepted).JSON(started)
}
