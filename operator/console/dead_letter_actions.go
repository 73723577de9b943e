package console

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
)

func deadLetterPath(id int64) string { return deadLettersPath + "/" + strconv.FormatInt(id, 10) }

// deadLetterOf returns the ID of the dead letter in the path, and the reason for the change.
func deadLetterOf(ctx *fiber.Ctx, needsReason bool) (id int64, by oversight.Actor, err error) {
	id, err = strconv.ParseInt(ctx.Params("id"), 10, 64)
	if err != nil || id < 1 {
		return 0, by, httpapi.BadField("id")
	}
	reason, err := reasonOf(ctx)
	if err == nil && needsReason && reason == "" {
		err = httpapi.MissingField("reason")
	}
	return id, httpapi.Actor(ctx, reason), err
}

// replayDeadLetter redirects to the event, which shows the outcome.
func (c *Console) replayDeadLetter(ctx *fiber.Ctx) error {
	id, by, err := deadLetterOf(ctx, false)
	if err != nil {
		return err
	}
	replay := c.API.SingleReplays.Replay
	if ctx.FormValue("fetch") != "" {
		replay = c.API.SingleReplays.Fetch
	}
	started, err := replay(ctx.UserContext(), id, by)
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
	return c.changeDeadLetter(ctx, true, c.API.DeadLetters.DiscardDeadLetter, "Discarded.")
}

func (c *Console) reopenDeadLetter(ctx *fiber.Ctx) error {
	return c.changeDeadLetter(ctx, false, c.API.DeadLetters.ReopenDeadLetter, "Reopened.")
}

func (c *Console) changeDeadLetter(
	ctx *fiber.Ctx, needsReason bool, change func(context.Context, int64, oversight.Actor) error, done string,
) error {
	id, by, err := deadLetterOf(ctx, needsReason)
	if err != nil {
		return err
	}
	if err := change(ctx.UserContext(), id, by); err != nil {
		return err
	}
	return c.Done(ctx, deadLetterPath(id), done)
}

func (c *Console) confirmDelete(ctx *fiber.Ctx) error {
	return c.confirmDeadLetter(ctx, frame.Confirm{
		Title: "Remove", Question: "The dead letter and its body are deleted permanently. The decision about its event stays.",
		Button: "Remove it", Reason: "optional", Destroys: true,
	}, "/delete")
}

// deleteDeadLetter redirects to the event, which may still exist.
func (c *Console) deleteDeadLetter(ctx *fiber.Ctx) error {
	id, by, err := deadLetterOf(ctx, false)
	if err != nil {
		return err
	}
	if err := c.API.DeadLetters.DeleteDeadLetter(ctx.UserContext(), id, by); err != nil {
		return err
	}
	return c.Done(ctx, deadLettersPath, fmt.Sprintf("Dead letter %d is removed.", id))
}

// cleanupOf parses which closed dead letters to delete: their minimum age, and one provider or all.
func cleanupOf(ctx *fiber.Ctx) (age time.Duration, provider string, err error) {
	age, err = httpapi.Duration(httpapi.CodeBadField, "older_than", ctx.FormValue("older_than"), 1, math.MaxInt64)
	if err != nil {
		return 0, "", err
	}
	provider = strings.TrimSpace(ctx.FormValue("provider"))
	if len(provider) > 1024 || strings.Contains(provider, "\x00") {
		return 0, "", httpapi.BadField("provider")
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
		Section: deadLetters, Title: "Remove closed dead letters",
		Question: "Dead letters that were resolved or discarded before that time are deleted permanently, with their bodies. " +
			"Pending deliveries are kept.",
		Facts: []frame.Fact{
			{"Closed before", time.Now().Add(-age).UTC().Format(time.RFC3339)}, {"Provider", of},
			{"At once", fmt.Sprintf("%d at most", operation.MaxCleanup)},
		},
		Action: deadLettersPath + "/cleanup", Button: "Remove them", Reason: "optional", Destroys: true, Back: deadLettersPath,
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
	removed, err := c.API.DeadLetters.CleanUpDeadLetters(ctx.UserContext(), wanted, httpapi.Actor(ctx, reason))
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d closed dead letters are removed.", removed)
	if removed == operation.MaxCleanup {
		text += " There may be more: do it again."
	}
	return c.Done(ctx, deadLettersPath, text)
}
