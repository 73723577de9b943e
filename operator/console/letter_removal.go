package console

import (
	"fmt"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event/operation"
	"holdfast/operator/console/frame"
	"holdfast/operator/exchange"
)

func (c *Console) confirmDelete(ctx *fiber.Ctx) error {
	return c.confirmLetter(ctx, frame.Confirm{
		Title: "Remove", Question: "The dead letter and its body are gone for good. What was decided about its event stays.",
		Button: "Remove it", Reason: "optional", Destroys: true,
	}, "/delete")
}

// deleteLetter leads to the event, which may be there still.
func (c *Console) deleteLetter(ctx *fiber.Ctx) error {
	id, by, err := letterOf(ctx, false)
	if err != nil {
		return err
	}
	if err := c.API.DeadLetters.DeleteDeadLetter(ctx.UserContext(), id, by); err != nil {
		return err
	}
	return c.Done(ctx, lettersPath, fmt.Sprintf("Dead letter %d is removed.", id))
}

// cleanupOf is what a form wants removed: what was closed so long ago, of one provider or of all.
func cleanupOf(ctx *fiber.Ctx) (age time.Duration, provider string, err error) {
	if age, err = time.ParseDuration(strings.TrimSpace(ctx.FormValue("older_than"))); err != nil || age <= 0 {
		return 0, "", exchange.BadField("older_than")
	}
	provider = strings.TrimSpace(ctx.FormValue("provider"))
	if len(provider) > 1024 || strings.Contains(provider, "\x00") {
		return 0, "", exchange.BadField("provider")
	}
	return age, provider, nil
}

func (c *Console) confirmCleanup(ctx *fiber.Ctx) error {
	age, provider, err := cleanupOf(ctx)
	if err != nil {
		return err
	}
	of := provider
	if of == "" {
		of = "all"
	}
	text := ctx.FormValue("older_than")
	return c.Ask(ctx, frame.Confirm{
		Section: letters, Title: "Remove closed dead letters",
		Question: "Dead letters that were resolved or discarded before that time are gone for good, with their bodies. " +
			"What waits stays.",
		Facts: []frame.Fact{
			{"Closed before", time.Now().Add(-age).UTC().Format(time.RFC3339)}, {"Provider", of},
			{"At once", fmt.Sprintf("%d at most", operation.MaxCleanup)},
		},
		Action: lettersPath + "/cleanup", Button: "Remove them", Reason: "optional", Destroys: true, Back: lettersPath,
		Fields: []frame.Fact{{"older_than", text}, {"provider", provider}},
	})
}

func (c *Console) cleanUp(ctx *fiber.Ctx) error {
	age, provider, err := cleanupOf(ctx)
	if err != nil {
		return err
	}
	reason, err := reasonOf(ctx)
	if err != nil {
		return err
	}
	wanted := operation.Cleanup{Before: time.Now().Add(-age), Provider: provider}
	removed, err := c.API.DeadLetters.CleanUpDeadLetters(ctx.UserContext(), wanted, exchange.Actor(ctx, reason))
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d closed dead letters are removed.", removed)
	if removed == operation.MaxCleanup {
		text += " There may be more: do it again."
	}
	return c.Done(ctx, lettersPath, text)
}
