package deliveryapi

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/delivery/admin"
	"holdfast/operator/httpapi"
)

// TrialRequest is the body of a trial.
type TrialRequest struct {
	admin.Choice
	httpapi.Reasoned
}

func (o *API) trySubscription(c *fiber.Ctx) error {
	name, err := httpapi.PathText(c, "name")
	if err != nil {
		return err
	}
	var body TrialRequest
	if err := httpapi.ReadChange(c, &body); err != nil {
		return err
	}
	if body.EventID != "" && !isUUID(body.EventID) {
		return httpapi.BadField("event_id")
	}
	ctx, cancel := context.WithTimeout(c.UserContext(), trialTimeout)
	defer cancel()
	result, err := o.Trials.Try(ctx, name, body.Choice, httpapi.Actor(c, body.Reason))
	if err != nil {
		return err
	}
	return c.JSON(ViewTrial(result))
}

// TrialView is a trial with its response as text.
type TrialView struct {
	delivery.Trial

	// Answer is the beginning of the response as text.
	Answer string `json:"answer,omitempty"`
}

// ViewTrial converts a trial to its view.
func ViewTrial(t delivery.Trial) TrialView { return TrialView{t, textOf(t.Answer)} }

// CheckRequest is the body of a check: an event to use instead of the samples.
type CheckRequest struct {
	httpapi.Reasoned

	// EventID is a stored event to use instead of the samples.
	EventID string `json:"event_id,omitempty" jsonschema:"format=uuid"`
	// Provider is the provider of Body. By default it is the subscription's, if that names one.
	Provider string `json:"provider,omitempty"`
	// Body is the body of an event, as its provider could send it, to use instead of the samples.
	Body *string `json:"body,omitempty"`
	// BodyBase64 is the body in base64, if it isn't text.
	BodyBase64 []byte `json:"body_base64,omitempty"`
}

func (r CheckRequest) choice() (admin.Choice, error) {
	which := admin.Choice{EventID: r.EventID, Provider: r.Provider}
	switch {
	case r.EventID != "" && !isUUID(r.EventID):
		return which, httpapi.BadField("event_id")
	case r.Body != nil && (r.EventID != "" || r.BodyBase64 != nil):
		return which, httpapi.BadField("body")
	case r.BodyBase64 != nil && r.EventID != "":
		return which, httpapi.BadField("body_base64")
	case r.Body != nil:
		which.Body = []byte(*r.Body)
	case r.BodyBase64 != nil:
		which.Body = r.BodyBase64
	}
	return which, nil
}

func (o *API) checkSubscription(c *fiber.Ctx) error {
	name, err := httpapi.PathText(c, "name")
	if err != nil {
		return err
	}
	var body CheckRequest
	if err := httpapi.ReadChange(c, &body); err != nil {
		return err
	}
	which, err := body.choice()
	if err != nil {
		return err
	}
	return httpapi.RespondWith(c, func(ctx context.Context) (httpapi.List[delivery.Finding], error) {
		return httpapi.ListOf(o.Trials.Check(ctx, name, which))
	})
}
