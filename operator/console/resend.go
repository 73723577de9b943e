package console

import (
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event/operation"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
)

const resendPath = operationsPath + "/resend"

// resendPage is the form for a resend and, once it is filled in, the plan of it.
type resendPage struct {
	Subscription, Since, Until string
	Everything, Imported       bool
	Rate                       float64
	// Names are the existing subscriptions.
	Names []string
	// Plan is nil until the form is filled in.
	Plan *operation.ResendPlan
}

// DefaultRate applies if the form has no rate.
func (resendPage) DefaultRate() float64 { return operation.KindResend.Rates().Default }

// newResend shows the form, and then the plan with the form that starts it. The range's end is a fixed time, so that the resend
// covers exactly the plan.
func (c *Console) newResend(ctx *fiber.Ctx) error {
	page := resendPage{
		Subscription: ctx.Query("subscription"), Since: ctx.Query("since"), Until: ctx.Query("until"),
		Everything: ctx.Query("everything") != "", Imported: ctx.Query("imported") != "", Rate: resendPage{}.DefaultRate(),
	}
	names, err := c.subscriptionNames(ctx)
	if err != nil {
		return err
	}
	page.Names = names
	if page.Subscription != "" && page.Since != "" {
		wanted, err := c.resendOf(ctx)
		if err != nil {
			return err
		}
		plan, err := c.API.Outbound.Resends.Plan(ctx.UserContext(), wanted.Subscription, wanted.Since, wanted.Until)
		if err != nil {
			return err
		}
		page.Plan, page.Rate = &plan, wanted.Rate
		page.Since, page.Until = frame.InstantText(wanted.Since), frame.InstantText(wanted.Until)
	}
	return c.Show(ctx, "resend", frame.Page{Title: "Resend", Section: operations, Data: page})
}

// resendOf parses the resend in a form.
func (c *Console) resendOf(ctx *fiber.Ctx) (r operation.Resend, err error) {
	s, err := c.API.Outbound.Subscriptions.Subscription(ctx.UserContext(), strings.TrimSpace(ctx.FormValue("subscription")))
	if err != nil {
		return r, err
	}
	r = operation.Resend{
		SubscriptionID: s.ID, Subscription: s.Name,
		Everything: ctx.FormValue("everything") != "", Imported: ctx.FormValue("imported") != "",
	}
	if r.Since, err = httpapi.TimeField(ctx, "since"); err != nil {
		return r, err
	}
	if r.Until, err = httpapi.TimeField(ctx, "until"); err != nil {
		return r, err
	}
	switch {
	case r.Since.IsZero():
		return r, httpapi.MissingField("since")
	case r.Until.IsZero():
		r.Until = time.Now()
	}
	if err := httpapi.CheckPeriod(httpapi.CodeBadField, r.Since, r.Until); err != nil {
		return r, err
	}
	rate, err := rateField(ctx, operation.KindResend)
	r.Base = operation.New(rate)
	return r, err
}

func (c *Console) startResend(ctx *fiber.Ctx) error {
	wanted, err := c.resendOf(ctx)
	if err != nil {
		return err
	}
	started, err := start(ctx, c.API.Outbound.Resends, wanted)
	if err != nil {
		return err
	}
	return c.Done(ctx, operationPath("resends", started.ID), "Started.")
}
