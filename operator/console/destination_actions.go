package console

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/delivery"
	"holdfast/delivery/admin"
	"holdfast/event"
	"holdfast/internal/word"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
)

// stateVerb is an action that changes a destination's state.
type stateVerb struct {
	to                      delivery.DestinationState
	title, question, button string
	done                    string
	destroys                bool
}

var stateVerbs = map[string]stateVerb{
	"pause": {
		to: delivery.DestinationPaused, title: "Pause", button: "Pause it", done: "Paused.",
		question: "Nothing is sent until it is resumed. Matching events are queued.",
	},
	"disable": {
		to: delivery.DestinationDisabled, title: "Disable", button: "Disable it", done: "Disabled.", destroys: true,
		question: "Nothing is sent until it is resumed. Matching events are queued until they expire.",
	},
	"resume": {
		to: delivery.DestinationReady, title: "Resume", button: "Resume it", done: "Resumed: pending deliveries are sent now.",
		question: "Sends pending deliveries immediately, oldest first, at the destination's rate. If that is too much for it, " +
			"set a rate before, such as 10 requests a second.",
	},
}

// confirmState asks before the state is changed.
func (c *Console) confirmState(ctx *fiber.Ctx) error {
	verb, ok := stateVerbs[ctx.Params("verb")]
	if !ok {
		return event.ErrNotFound
	}
	page, err := c.destination(ctx)
	if err != nil {
		return err
	}
	open := page.Condition.Open()
	facts := []frame.Fact{{"Destination", page.Name}, {"State", string(page.Condition.State)}, {"Pending", frame.Number(open)}}
	if verb.to == delivery.DestinationReady {
		facts = append(facts, page.Limits()[0])
	}
	return c.Ask(ctx, frame.Confirm{
		Section: destinations, Title: verb.title + " " + page.Name, Question: verb.question, Facts: facts, Button: verb.button,
		Action: destinationPath(page.Name) + "/" + ctx.Params("verb"), Back: destinationPath(page.Name), Reason: "optional",
		Destroys: verb.destroys,
	})
}

func (c *Console) setState(ctx *fiber.Ctx) error {
	verb, ok := stateVerbs[ctx.Params("verb")]
	if !ok {
		return event.ErrNotFound
	}
	d, err := c.API.Outbound.SetState(ctx, deliveryapi.Itself, verb.to)
	if err != nil {
		return err
	}
	return c.Done(ctx, destinationPath(d.Name), verb.done)
}

const (
	// retryTimeout is how long the page waits for the result of an attempt that was made due; retryPoll, how often it looks.
	retryTimeout = 4 * time.Second
	retryPoll    = 250 * time.Millisecond
)

// tryAgain makes the next attempt now and says what came of it.
func (c *Console) tryAgain(ctx *fiber.Ctx) error {
	d, before, err := c.API.Outbound.TryAgain(ctx)
	if err != nil {
		return err
	}
	return c.RedirectWith(ctx, destinationPath(d.Name), c.retryResult(ctx.UserContext(), d.ID, before))
}

// retryResult waits for the result of an attempt that was made due.
func (c *Console) retryResult(ctx context.Context, destination int64, before delivery.Condition) frame.Flash {
	ctx, cancel := context.WithTimeout(ctx, retryTimeout)
	defer cancel()
	last := before
	for {
		all, err := c.API.Outbound.Destinations.Conditions(ctx, []int64{destination})
		if now, ok := all[destination]; err == nil && ok {
			if result, ok := retried(before, now, time.Now()); ok {
				return result
			}
			last = now
		}
		select {
		case <-ctx.Done():
			if last.NextAt == nil && last.Leased == 0 {
				return frame.Flash{Text: "No delivery can be tried: each one is behind another of its key, or its key is paused.", Bad: true}
			}
			return frame.Flash{Text: "The next attempt is due now. Load the page again to see its result."}
		case <-time.After(retryPoll):
		}
	}
}

// retried says what an attempt has come to since it was made due; false if there is no result yet.
func retried(before, now delivery.Condition, at time.Time) (frame.Flash, bool) {
	isBlocked := now.OpenUntil != nil && now.OpenUntil.After(at) || now.ResumeAt != nil
	switch {
	case now.State != delivery.DestinationReady:
		return frame.Flash{Text: "The destination is " + string(now.State) + " now.", Bad: true}, true
	case isBlocked || now.Failures > before.Failures:
		code, _, _ := strings.Cut(now.Failure, ":")
		text := "Tried again, and it failed: " + code + "."
		if now.ResumeAt != nil {
			text = "Tried again, and the endpoint asked for another pause."
		}
		if now.NextAt != nil && now.NextAt.After(at) {
			text += " The next attempt is in " + frame.ShortDuration(now.NextAt.Sub(at)) + "."
		}
		return frame.Flash{Text: text, Bad: true}, true
	case now.Open() == 0 && before.Open() == 0:
		return frame.Flash{Text: "Nothing is pending. The next event is sent at once."}, true
	case now.FailingSince == nil && before.FailingSince != nil:
		text := "Tried again, and the endpoint accepted it."
		if n := now.Open(); n > 0 {
			text += " " + countOf(int(n), "pending delivery follows", "pending deliveries follow") + " now."
		}
		return frame.Flash{Text: text}, true
	case now.FailingSince == nil && now.Open() < before.Open(): // it was accepted, or no retry can succeed
		return frame.Flash{Text: "Tried again, and a delivery has finished: see Finished deliveries."}, true
	}
	return frame.Flash{}, false
}

// setRate sets or removes a destination's rate limit.
func (c *Console) setRate(ctx *fiber.Ctx) error {
	name, err := httpapi.PathText(ctx, "name")
	if err != nil {
		return err
	}
	reason, err := reasonOf(ctx)
	if err != nil {
		return err
	}
	rate, err := rateOf(ctx)
	if err != nil {
		return err
	}
	d, err := c.API.Outbound.Destinations.Destination(ctx.UserContext(), name)
	if err != nil {
		return err
	}
	d.Rate = rate
	if _, _, err := c.API.Outbound.Changes.Apply(ctx.UserContext(), d, "", httpapi.Actor(ctx, reason)); err != nil {
		return err
	}
	if rate == nil {
		return c.Done(ctx, destinationPath(name), "Rate limit removed.")
	}
	bound := frame.Number(rate.Requests) + " in " + word.Duration(time.Duration(rate.Per))
	return c.Done(ctx, destinationPath(name), "Limited to "+bound+" until you remove the limit.")
}

// rateOf parses requests per second, as in the API's flat form; "" is no limit.
func rateOf(ctx *fiber.Ctx) (*delivery.Rate, error) {
	text := strings.TrimSpace(ctx.FormValue("rate"))
	if text == "" {
		return nil, nil //nolint:nilnil // nil means no limit
	}
	perSecond, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, httpapi.BadField("rate")
	}
	rate := delivery.RateOf(perSecond)
	if rate == nil {
		return nil, httpapi.BadField("rate")
	}
	return rate, nil
}

func (c *Console) confirmRotation(ctx *fiber.Ctx) error {
	page, err := c.destination(ctx)
	if err != nil {
		return err
	}
	return c.Ask(ctx, frame.Confirm{
		Section: destinations, Title: "New secret for " + page.Name,
		Question: "Creates a new secret, which is shown once. Requests are signed with both for " +
			frame.ShortDuration(deliveryapi.DefaultGrace) + ": give it to the endpoint until then.",
		Facts:  []frame.Fact{{"Destination", page.Name}, {"Secrets now", strconv.Itoa(len(page.Secrets))}},
		Action: destinationPath(page.Name) + "/rotate", Button: "Make a new secret", Reason: "optional",
		Back: destinationPath(page.Name),
	})
}

// rotatedPage shows a new secret once, in the response to the form, because secrets are never put into cookies or URLs.
type rotatedPage struct {
	Name, Secret string
	Grace        time.Duration
}

func (c *Console) rotateSecret(ctx *fiber.Ctx) error {
	d, err := c.API.Outbound.RotateSecret(ctx, deliveryapi.Itself)
	if err != nil {
		return err
	}
	return c.Show(ctx, "rotated", frame.Page{
		Title: "The new secret of " + d.Name, Section: destinations, Data: rotatedPage{d.Name, d.Secret, deliveryapi.DefaultGrace},
	})
}

// trialPage shows the result of sending a trial event to a subscription. The result isn't stored, so it is shown in the response
// to the form.
type trialPage struct {
	Destination, Subscription string
	delivery.Trial

	Answer string
}

// testTimeout bounds a trial: an attempt may take longer than other requests.
const testTimeout = 25 * time.Second

func (c *Console) testSubscription(ctx *fiber.Ctx) error {
	destination, subscription, err := c.subscriptionOf(ctx)
	if err != nil {
		return err
	}
	choice := admin.Choice{EventID: strings.TrimSpace(ctx.FormValue("event"))}
	if choice.EventID != "" && uuid.Validate(choice.EventID) != nil {
		return httpapi.BadField("event")
	}
	within, cancel := context.WithTimeout(ctx.UserContext(), testTimeout)
	defer cancel()
	result, err := c.API.Outbound.Trials.Try(within, subscription, choice, httpapi.Actor(ctx, ""))
	if err != nil {
		return err
	}
	return c.Show(ctx, "trial", frame.Page{Title: "Test of " + subscription, Section: destinations, Data: trialPage{
		Destination: destination, Subscription: subscription, Trial: result,
		Answer: strings.ToValidUTF8(string(result.Answer), "\ufffd"),
	}})
}

// checkPage shows the result of checking a subscription, and has the form for the next check.
type checkPage struct {
	Destination, Subscription string
	// Event is the ID of a stored event; Body is an event that Provider could send.
	Event, Provider, Body string
	Findings              []delivery.Finding
}

// choice returns no event for an empty form: then the samples are checked.
func (p checkPage) choice() (which admin.Choice, err error) {
	which = admin.Choice{EventID: p.Event, Provider: p.Provider}
	switch {
	case p.Event != "" && uuid.Validate(p.Event) != nil:
		err = httpapi.BadField("event")
	case p.Event != "" && p.Body != "":
		err = httpapi.BadField("body")
	case p.Body != "":
		which.Body = []byte(p.Body)
	}
	return which, err
}

func (c *Console) checkSubscription(ctx *fiber.Ctx) error {
	destination, subscription, err := c.subscriptionOf(ctx)
	if err != nil {
		return err
	}
	page := checkPage{
		Destination: destination, Subscription: subscription, Event: strings.TrimSpace(ctx.FormValue("event")),
		Provider: strings.TrimSpace(ctx.FormValue("provider")), Body: strings.TrimSpace(ctx.FormValue("body")),
	}
	which, err := page.choice()
	if err != nil {
		return err
	}
	if page.Findings, err = c.API.Outbound.Trials.Check(ctx.UserContext(), subscription, which); err != nil {
		return err
	}
	return c.Show(ctx, "check", frame.Page{Title: "Check of " + subscription, Section: destinations, Data: page})
}

func (c *Console) confirmDeleteDestination(ctx *fiber.Ctx) error {
	page, err := c.destination(ctx)
	if err != nil {
		return err
	}
	if n := len(page.Subscriptions); n > 0 {
		return c.RedirectFailed(ctx, destinationPath(page.Name),
			countOf(n, "subscription still delivers", "subscriptions still deliver")+" to "+page.Name+". Delete the subscriptions first.")
	}
	return c.Ask(ctx, frame.Confirm{
		Section: destinations, Title: "Delete " + page.Name, Question: "The destination and its secrets are deleted.",
		Facts:  []frame.Fact{{"Destination", page.Name}, {"Goes to", page.Target()}},
		Action: destinationPath(page.Name) + "/delete", Button: "Delete destination", Reason: "optional", Destroys: true,
		Back: destinationPath(page.Name),
	})
}

func (c *Console) deleteDestination(ctx *fiber.Ctx) error {
	name, err := httpapi.PathText(ctx, "name")
	if err != nil {
		return err
	}
	if err := c.API.Outbound.DeleteDestination(ctx); err != nil {
		return err
	}
	return c.Done(ctx, destinationsPath, "Destination "+name+" is deleted.")
}
