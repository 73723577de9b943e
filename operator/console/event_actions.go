package console

import (
	"cmp"
	"context"
	"io"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/operator/api"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
)

// numberField parses the ID of a row in a form.
func numberField(ctx *fiber.Ctx, name string) (int64, error) {
	n, err := strconv.ParseInt(ctx.FormValue(name), 10, 64)
	if err != nil || n < 1 {
		return 0, httpapi.BadField(name)
	}
	return n, nil
}

// reasonOf returns the form's reason.
func reasonOf(ctx *fiber.Ctx) (string, error) {
	reason := strings.TrimSpace(ctx.FormValue("reason"))
	if len(reason) > httpapi.MaxText || !httpapi.IsText(reason) {
		return "", httpapi.BadField("reason")
	}
	return reason, nil
}

func eventPath(id string) string { return "/console/events/" + pathEscape(id) }

func (c *Console) replayEvent(ctx *fiber.Ctx) error {
	deadLetter, err := numberField(ctx, "dead_letter")
	if err != nil {
		return err
	}
	reason, err := reasonOf(ctx)
	if err != nil {
		return err
	}
	started, err := c.API.SingleReplays.Replay(ctx.UserContext(), deadLetter, httpapi.Actor(ctx, reason))
	if err != nil {
		return err
	}
	return c.Done(ctx, eventPath(started.EventID), "A run of the event was started: "+started.Run.RunID)
}

// editPage is the form to edit a body, or to replace it by a file.
type editPage struct {
	api.EventDetail

	DeadLetter api.DeadLetterView
	Form       bodyForm
}

// maxFormBody bounds a body in a form, in bytes with its characters escaped, so that the page stays below 100 kB.
const maxFormBody = 80_000

// bodyForm is a body in a form. Browsers submit every line end as CR LF.
type bodyForm struct {
	// Text is "" if Unfit says why a form can't hold the body.
	Text, Unfit string
	// Ends names the body's line ends: see lineEnds.
	Ends string
}

// lineEnds are the line ends by the name that the form has for them.
var lineEnds = map[string]string{"lf": "\n", "crlf": "\r\n", "cr": "\r"}

// bodyFormOf puts a body in a form, unless that would change bytes that the user doesn't edit.
func bodyFormOf(body []byte) (f bodyForm) {
	text := string(body)
	switch {
	case !utf8.Valid(body):
		f.Unfit = "it isn't text in UTF-8"
	case strings.ContainsRune(text, 0):
		f.Unfit = "it has NUL bytes, which a browser replaces"
	case len(frame.EscapeBody(text)) > maxFormBody:
		f.Unfit = "it is too large for this page"
	default:
		if f.Ends = endsOf(text); f.Ends == "" {
			f.Unfit = "it has line ends of several kinds, which a browser makes equal"
		}
	}
	if f.Unfit == "" {
		f.Text = text
	}
	return f
}

// endsOf returns the name of a text's line ends, and "" if it has several kinds.
func endsOf(text string) string {
	both := strings.Count(text, "\r\n")
	switch cr, lf := strings.Count(text, "\r"), strings.Count(text, "\n"); {
	case cr == 0:
		return "lf"
	case cr == both && lf == both:
		return "crlf"
	case lf == 0:
		return "cr"
	}
	return ""
}

func (c *Console) showEdit(ctx *fiber.Ctx) error {
	detail, err := c.API.Event(ctx)
	if err != nil {
		return err
	}
	page := editPage{EventDetail: detail, Form: bodyFormOf(detail.Body.Raw)}
	for _, d := range detail.DeadLetters {
		if canRunAgain(d) {
			page.DeadLetter = d
		}
	}
	if page.DeadLetter.ID == 0 {
		return c.RedirectFailed(ctx, eventPath(detail.ID), "This event has no open dead letter, so there is nothing to edit.")
	}
	return c.Show(ctx, "edit", frame.Page{Title: "Edit and replay", Section: "Events", Data: page})
}

// editedBody returns the body of a form: the bytes of its file, or its text with the line ends that the original body has.
func editedBody(ctx *fiber.Ctx) ([]byte, error) {
	if strings.HasPrefix(ctx.Get(fiber.HeaderContentType), fiber.MIMEMultipartForm) {
		header, err := ctx.FormFile("file")
		if err != nil || header.Size == 0 {
			return nil, httpapi.MissingField("file")
		}
		if header.Size > event.MaxBody {
			return nil, &httpapi.RefusalError{Code: httpapi.CodeTooLarge, Field: "file"}
		}
		file, err := header.Open()
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return io.ReadAll(file)
	}
	text := ctx.FormValue("body")
	if text == "" {
		return nil, httpapi.MissingField("body")
	}
	end, ok := lineEnds[cmp.Or(ctx.FormValue("ends"), "lf")]
	if !ok {
		return nil, httpapi.BadField("ends")
	}
	return []byte(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", end)), nil
}

// editEvent replays an event with a new body.
func (c *Console) editEvent(ctx *fiber.Ctx) error {
	deadLetter, err := numberField(ctx, "dead_letter")
	if err != nil {
		return err
	}
	reason, err := reasonOf(ctx)
	if err != nil {
		return err
	}
	body, err := editedBody(ctx)
	if err != nil {
		return err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	edit := operation.Edit{DeadLetter: deadLetter, EventID: id.String(), Body: body}
	started, err := c.API.SingleReplays.EditAndReplay(ctx.UserContext(), edit, httpapi.Actor(ctx, reason))
	if err != nil {
		return err
	}
	if started.Run.RunID == "" {
		return c.RedirectFailed(ctx, eventPath(started.EventID), "The edited event couldn't be started: it is an open dead letter.")
	}
	return c.Done(ctx, eventPath(started.EventID), "This is the edited event. Its run was started: "+started.Run.RunID)
}

// deliveryOf returns the delivery named in a form.
func deliveryOf(ctx *fiber.Ctx) (k delivery.Key, err error) {
	if uuid.Validate(ctx.Params("id")) != nil {
		return k, httpapi.BadField("id")
	}
	k.EventID = ctx.Params("id")
	k.SubscriptionID, err = numberField(ctx, "subscription")
	return k, err
}

// confirmResendDelivery asks for confirmation: what was sent can't be taken back.
func (c *Console) confirmResendDelivery(ctx *fiber.Ctx) error {
	return c.confirmDelivery(ctx, eventPath(ctx.Params("id"))+"/resend", func(d delivery.Delivery) frame.Confirm {
		if !d.IsFinished() {
			return frame.Confirm{
				Title: "Try a delivery again now", Button: "Try again now", Reason: "optional",
				Question: "Makes the next attempt of this delivery due now. While the destination is paused or its breaker is open, the " +
					"delivery waits for that: try the destination again on its page.",
			}
		}
		return frame.Confirm{
			Title: "Resend a delivery", Button: "Resend", Reason: "optional",
			Question: "Sends the event to the destination, even if it has received it before. This can't be undone.",
		}
	})
}

func (c *Console) resendDelivery(ctx *fiber.Ctx) error {
	k, err := deliveryOf(ctx)
	if err != nil {
		return err
	}
	reason, err := reasonOf(ctx)
	if err != nil {
		return err
	}
	d, err := c.API.Outbound.Deliveries.Resend(ctx.UserContext(), k, httpapi.Actor(ctx, reason))
	if err != nil {
		return err
	}
	text := "Resending to " + d.Subscription + "."
	if !d.IsFinished() && d.Attempts > 0 {
		text = "The next attempt for " + d.Subscription + " is due now."
	}
	return c.Done(ctx, eventPath(k.EventID), text)
}

func (c *Console) confirmCancel(ctx *fiber.Ctx) error {
	return c.confirmDelivery(ctx, eventPath(ctx.Params("id"))+"/cancel", func(delivery.Delivery) frame.Confirm {
		return frame.Confirm{
			Title: "Cancel a delivery", Button: "Cancel the delivery", Reason: "optional", Destroys: true,
			Question: "The destination won't get this event unless you resend it.",
		}
	})
}

// confirmDelivery asks a question about the delivery that the query names, and posts the answer to a path.
func (c *Console) confirmDelivery(ctx *fiber.Ctx, action string, ask func(delivery.Delivery) frame.Confirm) error {
	k, err := deliveryOf(ctx)
	if err != nil {
		return err
	}
	all, err := c.API.Outbound.Deliveries.DeliveriesOf(ctx.UserContext(), k.EventID)
	if err != nil {
		return err
	}
	for _, d := range all {
		if d.SubscriptionID == k.SubscriptionID {
			q := ask(d)
			q.Section, q.Action, q.Back = "Events", action, eventPath(k.EventID)
			q.Facts = []frame.Fact{{"Event", k.EventID}, {"Subscription", d.Subscription}, {"Status", string(d.Status)}}
			q.Fields = []frame.Fact{{"subscription", strconv.FormatInt(k.SubscriptionID, 10)}}
			return c.Ask(ctx, q)
		}
	}
	return event.ErrNotFound
}

func (c *Console) cancelDelivery(ctx *fiber.Ctx) error {
	k, err := deliveryOf(ctx)
	if err != nil {
		return err
	}
	reason, err := reasonOf(ctx)
	if err != nil {
		return err
	}
	d, err := c.API.Outbound.Deliveries.CancelDelivery(ctx.UserContext(), k, httpapi.Actor(ctx, reason))
	if err != nil {
		return err
	}
	return c.Done(ctx, eventPath(k.EventID), "Canceled the delivery to "+d.Subscription+".")
}

// headAction is what operators can do with the head of an ordered key.
type headAction struct {
	title, question, done string
	change                func(deliveryapi.Orders, context.Context, delivery.Key, oversight.Actor) (delivery.Delivery, error)
}

// headActions are by the verb in the path.
var headActions = map[string]headAction{
	"skip": {
		"Skip", "Moves this delivery to the end of its key: it is attempted again after those that are pending now.",
		"Skipped. The next delivery of its key follows.", deliveryapi.Orders.SkipHead,
	},
	"pause": {
		"Pause the key", "Attempts neither this delivery nor those behind it until you resume it.", "Paused the key.",
		deliveryapi.Orders.PauseHead,
	},
	"resume": {
		"Attempt now", "Attempts this delivery now. The others of its key follow.", "The delivery is due now.",
		deliveryapi.Orders.ResumeHead,
	},
}

func (c *Console) confirmHead(ctx *fiber.Ctx) error {
	a, ok := headActions[ctx.Params("verb")]
	if !ok {
		return event.ErrNotFound
	}
	action := deliveriesPath + "/" + ctx.Params("id") + "/head/" + ctx.Params("verb")
	return c.confirmDelivery(ctx, action, func(delivery.Delivery) frame.Confirm {
		return frame.Confirm{Title: a.title, Button: a.title, Reason: "optional", Question: a.question}
	})
}

func (c *Console) changeHead(ctx *fiber.Ctx) error {
	a, ok := headActions[ctx.Params("verb")]
	if !ok {
		return event.ErrNotFound
	}
	k, err := deliveryOf(ctx)
	if err != nil {
		return err
	}
	reason, err := reasonOf(ctx)
	if err != nil {
		return err
	}
	d, err := a.change(c.API.Outbound.Deliveries, ctx.UserContext(), k, httpapi.Actor(ctx, reason))
	if err != nil {
		return err
	}
	return c.Done(ctx, destinationPath(d.Destination)+"#order", a.done)
}

// confirmResend asks for confirmation to deliver a processed event again.
func (c *Console) confirmResend(ctx *fiber.Ctx) error {
	id, err := httpapi.PathUUID(ctx)
	if err != nil {
		return err
	}
	all, err := c.API.Outbound.Deliveries.DeliveriesOf(ctx.UserContext(), id)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return c.RedirectFailed(ctx, eventPath(id), "No subscription got this event, so there is nothing to resend. "+
			"A resend of a time range also sends what matches a subscription now.")
	}
	q := frame.Confirm{
		Section: "Events", Title: "Resend to " + countOf(len(all), "subscription", "subscriptions"),
		Question: "Sends the event again to each subscription below, under a new webhook-id, even where it was delivered before. " +
			"It isn't processed again: entities don't change. Paused deliveries start once they are resumed.",
		Facts:  []frame.Fact{{"Event", id}, {"Deliveries", strconv.Itoa(len(all))}},
		Action: eventPath(id) + "/resend-all", Button: "Resend " + countOf(len(all), "delivery", "deliveries"), Reason: "optional",
		Back: eventPath(id),
	}
	for _, d := range all {
		q.Facts = append(q.Facts, frame.Fact{d.Subscription, string(d.Status) + ", to " + d.Destination})
		q.Fields = append(q.Fields, frame.Fact{"id", strconv.FormatInt(d.SubscriptionID, 10)})
	}
	return c.Ask(ctx, q)
}

// resendDeliveries resends an event to the subscriptions that the confirmation named.
func (c *Console) resendDeliveries(ctx *fiber.Ctx) error {
	eventID, err := httpapi.PathUUID(ctx)
	if err != nil {
		return err
	}
	values, err := url.ParseQuery(string(ctx.BodyRaw()))
	if err != nil {
		return httpapi.BadField("id")
	}
	ids, err := idsOf(values)
	if err != nil {
		return err
	}
	reason, err := reasonOf(ctx)
	if err != nil {
		return err
	}
	send := func(within context.Context, subscription int64, by oversight.Actor) error {
		_, err := c.API.Outbound.Deliveries.Resend(within, delivery.Key{EventID: eventID, SubscriptionID: subscription}, by)
		return err
	}
	return c.RedirectWith(ctx, eventPath(eventID), applied(ctx, ids, "resent", send, httpapi.Actor(ctx, reason)))
}

// CanResend reports whether the event was processed and has deliveries.
func (p eventPage) CanResend() bool {
	return p.Status == event.StatusProcessed && len(p.Deliveries) > 0
}

// countOf returns a number with its noun.
func countOf[N ~int | ~int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return frame.Number(n) + " " + many
}
