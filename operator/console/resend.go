package console

import (
	"github.com/gofiber/fiber/v2"

	"holdfast/event/operation"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/console/frame"
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
		wanted, err := deliveryapi.ReadResend(ctx)
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

func (c *Console) startResend(ctx *fiber.Ctx) error {
	started, err := c.API.Outbound.StartResend(ctx)
	if err != nil {
		return err
	}
	return c.Done(ctx, operationPath("resends", started.ID), "Started.")
}
