package api

import (
	"github.com/gofiber/fiber/v2"

	"holdfast/event/operation"
	"holdfast/operator/httpapi"
)

// RecoveryRequest is the body of a recovery.
type RecoveryRequest struct {
	httpapi.Reasoned

	// Provider is the provider whose list of events is read.
	Provider string `json:"provider"`
	// Target is the account or board whose list is read, if the provider has several.
	Target string `json:"target,omitempty"`
	// Since is RFC 3339 or a duration that counts back from now (48h, 7d). Without it, the recovery continues where the last one
	// ended.
	Since string `json:"since,omitempty"`
	// DryRun counts the missed events, and processes none.
	DryRun bool `json:"dry_run,omitempty"`
	// Undelivered: recovered events aren't sent to subscriptions.
	Undelivered bool `json:"undelivered,omitempty"`
	// AcceptDuplicates also goes back before recovery was switched on, where events may be processed twice.
	AcceptDuplicates bool `json:"accept_duplicates,omitempty"`
	// Paused: it waits until it is resumed, and until then the schedule starts no recovery of the list.
	Paused bool `json:"paused,omitempty"`
	// Rate is the max number of missed events started per second.
	Rate float64 `json:"rate,omitempty" jsonschema:"minimum=0.01,maximum=1000,default=20"`
}

func (a *API) recoveryRoutes() []httpapi.Route {
	return append(httpapi.OperationRoutes(operation.KindRecovery, a.Recoveries),
		httpapi.Post("startRecovery", "/recoveries",
			"Read a provider's list of events, and process those that never arrived; one recovery of a list at a time",
			httpapi.Starts(a.startRecovery)).
			MayTake(RecoveryRequest{}).Returns(fiber.StatusAccepted, operation.Recovery{}))
}

func (a *API) startRecovery(c *fiber.Ctx) (started operation.Recovery, err error) {
	var body RecoveryRequest
	if err := httpapi.ReadChange(c, &body); err != nil {
		return started, err
	}
	if body.Provider == "" {
		return started, httpapi.MissingField("provider")
	}
	for field, text := range map[string]string{"provider": body.Provider, "target": body.Target} {
		if len(text) > httpapi.MaxText || !httpapi.IsText(text) {
			return started, httpapi.BadField(field)
		}
	}
	rate, err := httpapi.Rate(body.Rate, operation.KindRecovery)
	if err != nil {
		return started, err
	}
	wanted := operation.Recovery{
		Base: operation.New(rate), Provider: body.Provider, Target: body.Target, DryRun: body.DryRun, Undelivered: body.Undelivered,
		AcceptDuplicates: body.AcceptDuplicates,
	}
	if body.Paused {
		wanted.State = operation.Paused
	}
	if body.Since != "" {
		if wanted.AskedSince, err = httpapi.ParseTime(body.Since); err != nil {
			return started, &httpapi.RefusalError{Code: httpapi.CodeBadField, Field: "since", Detail: err.Error()}
		}
	}
	return httpapi.StartOperation(c, a.Recoveries, wanted, body.Reason)
}
