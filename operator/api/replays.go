package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/internal/word"
	"holdfast/operator/httpapi"
)

// ReplayRequest is the body of a replay or its plan.
type ReplayRequest struct {
	operation.ReplayFilter
	httpapi.Reasoned

	// All selects everything. It is required without a filter and invalid with one. A plan ignores it.
	All bool `json:"all,omitempty"`
	// Rate is the number of runs started per second. A plan ignores it.
	Rate float64 `json:"rate,omitempty" jsonschema:"minimum=0.01,maximum=1000,default=50"`
	// First makes a plan quick: it looks for other keys in the first dead letters, up to this many. A replay ignores it.
	First int `json:"first,omitempty" jsonschema:"minimum=0,maximum=10000"`
}

// waitingStates are the states of dead letters that a replay accepts.
var waitingStates = []event.DeadLetterState{event.DeadLetterOpen, event.DeadLetterExhausted}

func (a *API) replayRoutes() []httpapi.Route {
	return append(httpapi.OperationRoutes(operation.KindReplay, a.Replays),
		httpapi.Post("startReplay", "/replays", "Replay many dead letters, at a rate", httpapi.Starts(a.StartReplay)).
			MayTake(ReplayRequest{}).Returns(fiber.StatusAccepted, operation.Replay{}),
		httpapi.Post("planReplay", "/replays/plan", "Count what a replay would run, and change nothing", a.planReplay).
			MayTake(ReplayRequest{}).Returns(fiber.StatusOK, operation.ReplayPlan{}))
}

// ReadReplay parses the body of a request for a replay or its plan.
func ReadReplay(c *fiber.Ctx) (body ReplayRequest, err error) {
	if err := httpapi.ReadChange(c, &body); err != nil {
		return body, err
	}
	for field, text := range map[string]string{
		"provider": body.Provider, "source": body.Source, "type": body.Type, "code": body.Code, "rule": body.Rule,
		"subscription": body.Subscription,
	} {
		if len(text) > httpapi.MaxText || !httpapi.IsText(text) {
			return body, httpapi.BadField(field)
		}
	}
	if body.Source != "" && body.Provider == "" {
		return body, &httpapi.RefusalError{Code: httpapi.CodeBadField, Field: "source", Detail: "it needs provider"}
	}
	if _, err := word.Choose(string(body.Class), event.Classes()); err != nil {
		return body, httpapi.RefuseChoice(httpapi.CodeBadField, "class", err)
	}
	if _, err := word.Choose(string(body.Step), event.Steps()); err != nil {
		return body, httpapi.RefuseChoice(httpapi.CodeBadField, "step", err)
	}
	if _, err := word.Choose(string(body.State), waitingStates); err != nil {
		return body, httpapi.RefuseChoice(httpapi.CodeBadField, "state", err)
	}
	if err := httpapi.CheckPeriod(httpapi.CodeBadField, body.Since, body.Until); err != nil {
		return body, err
	}
	if body.First < 0 || body.First > httpapi.MaxFirst {
		return body, httpapi.BadField("first")
	}
	body.Rate, err = httpapi.Rate(body.Rate, operation.KindReplay)
	return body, err
}

func (a *API) planReplay(c *fiber.Ctx) error {
	body, err := ReadReplay(c)
	if err != nil {
		return err
	}
	return httpapi.RespondWith(c, func(ctx context.Context) (operation.ReplayPlan, error) {
		return a.Replays.Plan(ctx, body.ReplayFilter, body.First)
	})
}

// StartReplay starts the replay that a request asks for.
func (a *API) StartReplay(c *fiber.Ctx) (started operation.Replay, err error) {
	body, err := ReadReplay(c)
	if err == nil {
		err = httpapi.CheckAll(body.All, body.IsAll())
	}
	if err != nil {
		return started, err
	}
	wanted := operation.Replay{Base: operation.New(body.Rate), Filter: body.ReplayFilter}
	return httpapi.StartOperation(c, a.Replays, wanted, body.Reason)
}
