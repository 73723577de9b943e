package api

import (
	"encoding/base64"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/operator/httpapi"
)

func (a *API) singleReplayRoutes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.Post("replayDeadLetter", "/dead-letters/:id/replay", "Run an event again: the same workflow, event and bytes",
			httpapi.Starts(a.ReplayDeadLetter)).
			Explain("Of several concurrent requests, one starts a run. A dead letter that is resolved, running, discarded or replaced "+
				"is refused with 409.").
			With(deadLetterID).MayTake(SingleReplay{}).Returns(fiber.StatusAccepted, operation.Replayed{}),
		httpapi.Post("editDeadLetter", "/dead-letters/:id/edit", "Run an edited event instead", a.editDeadLetter).
			Explain("Starts the workflow {id}:r{n} with the new body as a new event. The original is kept as discarded, and each "+
				"names the other. If the run can't be started, run_id is empty and the edited event is an open dead letter.").
			With(deadLetterID).Takes(Edit{}).Returns(fiber.StatusAccepted, operation.Replayed{}),
	}
}

// SingleReplay is the body of a replay of one dead letter.
type SingleReplay struct {
	httpapi.Reasoned

	// Fetch asks the provider's API again for the state behind the event.
	Fetch bool `json:"fetch,omitempty"`
}

// ReplayDeadLetter replays the dead letter in the path.
func (a *API) ReplayDeadLetter(c *fiber.Ctx) (started operation.Replayed, err error) {
	id, err := httpapi.PathNumber(c)
	if err != nil {
		return started, err
	}
	var body SingleReplay
	if err := httpapi.ReadChange(c, &body); err != nil {
		return started, err
	}
	start := a.SingleReplays.Replay
	if body.Fetch {
		start = a.SingleReplays.Fetch
	}
	return start(httpapi.RequestContext(c), id, httpapi.Actor(c, body.Reason))
}

// Edit is the body of an edit request: the event's new body as text, or in base64 if it isn't text.
type Edit struct {
	httpapi.Reasoned

	// Body is the new body as text, up to 25 MiB.
	Body *string `json:"body,omitempty" jsonschema:"oneof_required=body"`
	// BodyBase64 is the new body in base64, if it isn't text.
	BodyBase64 *string `json:"body_base64,omitempty" jsonschema:"oneof_required=body_base64"`
}

func (e Edit) bytes() ([]byte, error) {
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

func sized(body []byte, field string) ([]byte, error) {
	if len(body) > event.MaxBody {
		return nil, &httpapi.RefusalError{Code: httpapi.CodeTooLarge, Field: field}
	}
	return body, nil
}

func (a *API) editDeadLetter(c *fiber.Ctx) error {
	id, err := httpapi.PathNumber(c)
	if err != nil {
		return err
	}
	var body Edit
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
	wanted := operation.Edit{DeadLetter: id, EventID: eventID.String(), Body: edited}
	started, err := a.SingleReplays.EditAndReplay(httpapi.RequestContext(c), wanted, httpapi.Actor(c, body.Reason))
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusAccepted).JSON(started)
}
