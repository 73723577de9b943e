package console

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event/operation"
	"holdfast/operator/api"
	"holdfast/operator/console/frame"
)

func deadLetterPath(id int64) string { return deadLettersPath + "/" + strconv.FormatInt(id, 10) }

// replayDeadLetter redirects to the event, which shows the outcome.
func (c *Console) replayDeadLetter(ctx *fiber.Ctx) error {
	started, err := c.API.ReplayDeadLetter(ctx)
	if err != nil {
		return err
	}
	text := "Replaying."
	if started.Run.RunID != "" {
		text = "A run of the event was started: " + started.Run.RunID
	}
	return c.Done(ctx, eventPath(started.EventID), text)
}

func (c *Console) confirmDiscard(ctx *fiber.Ctx) error {
	return c.confirmDeadLetter(ctx, frame.Confirm{
		Title: "Discard", Question: "The event won't be processed, and its effects on entities are undone. " +
			"The dead letter stays, with your reason.",
		Button: "Discard the event", Reason: "required", Destroys: true,
	}, "/discard")
}

func (c *Console) confirmReopen(ctx *fiber.Ctx) error {
	return c.confirmDeadLetter(ctx, frame.Confirm{
		Title: "Reopen", Question: "This undoes the discard: the dead letter is open again.",
		Button: "Reopen it", Reason: "optional",
	}, "/reopen")
}

func (c *Console) confirmDeadLetter(ctx *fiber.Ctx, q frame.Confirm, verb string) error {
	d, err := c.API.DeadLetter(ctx)
	if err != nil {
		return err
	}
	q.Title += fmt.Sprintf(" dead letter %d", d.ID)
	q.Section, q.Back, q.Action = deadLetters, deadLetterPath(d.ID), deadLetterPath(d.ID)+verb
	q.Facts = []frame.Fact{
		{"Event", d.EventID}, {"Provider", d.Provider}, {"Type", d.Type}, {"State", string(d.State)}, {"Failed for", d.Failure.Message},
	}
	return c.Ask(ctx, q)
}

func (c *Console) discardDeadLetter(ctx *fiber.Ctx) error {
	return c.changeDeadLetter(ctx, c.API.DiscardDeadLetter, "Discarded.")
}

func (c *Console) reopenDeadLetter(ctx *fiber.Ctx) error {
	return c.changeDeadLetter(ctx, c.API.ReopenDeadLetter, "Reopened.")
}

func (c *Console) changeDeadLetter(ctx *fiber.Ctx, change func(*fiber.Ctx) (api.DeadLetterView, error), done string) error {
	d, err := change(ctx)
	if err != nil {
		return err
	}
	return c.Done(ctx, deadLetterPath(d.ID), done)
}

func (c *Console) confirmDelete(ctx *fiber.Ctx) error {
	return c.confirmDeadLetter(ctx, frame.Confirm{
		Title: "Remove", Question: "The dead letter and its body are deleted permanently. The decision about its event stays.",
		Button: "Remove it", Reason: "optional", Destroys: true,
	}, "/delete")
}

// deleteDeadLetter redirects to the event, which may still exist.
func (c *Console) deleteDeadLetter(ctx *fiber.Ctx) error {
	id, err := c.API.DeleteDeadLetter(ctx)
	if err != nil {
		return err
	}
	return c.Done(ctx, deadLettersPath, fmt.Sprintf("Dead letter %d is removed.", id))
}

func (c *Console) confirmCleanup(ctx *fiber.Ctx) error {
	wanted, err := api.ReadCleanup(ctx)
	if err != nil {
		return err
	}
	return c.Ask(ctx, frame.Confirm{
		Section: deadLetters, Title: "Remove closed dead letters",
		Question: "Dead letters that were resolved or discarded before that time are deleted permanently, with their bodies. " +
			"Pending deliveries are kept.",
		Facts: []frame.Fact{
			{"Closed before", time.Now().Add(-time.Duration(wanted.OlderThan)).UTC().Format(time.RFC3339)},
			{"Provider", orAll(wanted.Provider)},
			{"At once", fmt.Sprintf("%d at most", operation.MaxCleanup)},
		},
		Action: deadLettersPath + "/cleanup", Button: "Remove them", Reason: "optional", Destroys: true, Back: deadLettersPath,
		Fields: []frame.Fact{{"older_than", ctx.FormValue("older_than")}, {"provider", wanted.Provider}},
	})
}

func (c *Console) cleanUp(ctx *fiber.Ctx) error {
	done, err := c.API.CleanUpDeadLetters(ctx)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d closed dead letters are removed.", done.Removed)
	if done.More {
		text += " There may be more: do it again."
	}
	return c.Done(ctx, deadLettersPath, text)
}
