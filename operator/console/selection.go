package console

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"holdfast/event/oversight"
	"holdfast/operator/console/frame"
	"holdfast/operator/guard"
	"holdfast/operator/httpapi"
)

// selection is a set of ticked dead letters, and the action on them.
type selection struct {
	IDs []int64
	Do  string
	// List is the query of the list, for the way back.
	List string
}

// maxSelected is how many rows a page can have.
const maxSelected = 200

// selectionOf parses a query or a form.
func selectionOf(values url.Values) (s selection, err error) {
	if s.IDs, err = idsOf(values); err != nil {
		return s, err
	}
	if len(s.IDs) > maxSelected {
		return s, httpapi.BadField("id")
	}
	if s.Do = values.Get("do"); s.Do != "replay" && s.Do != "discard" {
		return s, httpapi.BadField("do")
	}
	list, err := url.ParseQuery(values.Get("list"))
	if err != nil {
		return s, httpapi.BadField("list")
	}
	s.List = list.Encode()
	return s, nil
}

// idsOf parses the IDs in a form.
func idsOf(values url.Values) (ids []int64, err error) {
	for _, text := range values["id"] {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id < 1 {
			return nil, httpapi.BadField("id")
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (s selection) back() string { return deadLetterListPath + "?" + s.List }

// confirmSelected asks for confirmation and shows how many are selected.
func (c *Console) confirmSelected(ctx *fiber.Ctx) error {
	values, err := url.ParseQuery(string(ctx.Request().URI().QueryString()))
	if err != nil {
		return httpapi.BadField("id")
	}
	s, err := selectionOf(values)
	if err != nil {
		return err
	}
	if len(s.IDs) == 0 {
		return c.RedirectWith(ctx, s.back(), frame.Flash{Text: "Nothing was selected.", Bad: true})
	}
	q := frame.Confirm{
		Section: deadLetters, Action: deadLettersPath + "/selected", Back: s.back(),
		Fields: []frame.Fact{{"do", s.Do}, {"list", s.List}},
	}
	for _, id := range s.IDs {
		text := strconv.FormatInt(id, 10)
		q.Fields = append(q.Fields, frame.Fact{"id", text})
		q.Facts = append(q.Facts, frame.Fact{"Dead letter", text})
	}
	of := fmt.Sprintf("the %d selected", len(s.IDs))
	switch s.Do {
	case "discard":
		q.Title, q.Button, q.Reason, q.Destroys = "Discard "+of, "Discard "+of, "required", true
		q.Question = "Discards these events: none will be processed, and their effects on entities are undone."
	default:
		q.Title, q.Button, q.Reason = "Replay "+of, "Replay "+of, "optional"
		q.Question = "Replays each of these events."
	}
	return c.Ask(ctx, q)
}

func (c *Console) changeSelected(ctx *fiber.Ctx) error {
	values, err := url.ParseQuery(string(ctx.BodyRaw()))
	if err != nil {
		return httpapi.BadField("id")
	}
	s, err := selectionOf(values)
	if err != nil {
		return err
	}
	reason, err := reasonOf(ctx)
	if err != nil {
		return err
	}
	change, did := c.replay, "run again"
	if s.Do == "discard" {
		if change, did = c.API.DeadLetters.DiscardDeadLetter, "discarded"; reason == "" {
			return httpapi.MissingField("reason")
		}
	}
	return c.RedirectWith(ctx, s.back(), applied(ctx, s.IDs, did, change, httpapi.Actor(ctx, reason)))
}

func (c *Console) replay(ctx context.Context, id int64, by oversight.Actor) error {
	_, err := c.API.SingleReplays.Replay(ctx, id, by)
	return err
}

// applied applies a change to each dead letter and reports the results.
func applied(
	ctx *fiber.Ctx, ids []int64, did string, change func(context.Context, int64, oversight.Actor) error, by oversight.Actor,
) frame.Flash {
	var refused []string
	for _, id := range ids {
		if err := change(ctx.UserContext(), id, by); err != nil {
			f := guard.FailureOf(ctx, err)
			why := f.Message
			if f.Detail != "" {
				why = f.Detail
			}
			refused = append(refused, fmt.Sprintf("%d: %s", id, why))
		}
	}
	text := fmt.Sprintf("%d of the %d selected were %s.", len(ids)-len(refused), len(ids), did)
	const shown = 5
	if more := len(refused) - shown; more > 0 {
		refused = append(refused[:shown], fmt.Sprintf("and %d more", more))
	}
	if len(refused) > 0 {
		text += " Refused: " + strings.Join(refused, "; ")
	}
	return frame.Flash{Text: text, Bad: len(refused) > 0}
}
