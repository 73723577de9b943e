package console

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
)

// workflowForm describes what a subscription to a task queue starts or signals.
type workflowForm struct {
	Start           *delivery.Start           `json:"start,omitempty"`
	Signal          *delivery.Signal          `json:"signal,omitempty"`
	SignalWithStart *delivery.SignalWithStart `json:"signal_with_start,omitempty"`
}

// subscriptionForm contains the fields of a subscription to a destination; one without a name is new.
func subscriptionForm(s delivery.Subscription, to delivery.Destination) *form {
	f := &form{
		Lead: "Select the events that go to " + to.Name + ". Empty fields don't restrict.", Button: "Save",
		Action: destinationPath(to.Name) + "/subscribe", Back: destinationPath(to.Name),
	}
	main := fieldGroup{}
	if s.ID == 0 {
		f.Button = "Create subscription"
		main.Fields = append(main.Fields, &field{
			Name: "name", Label: "Name", Value: s.Name, Hint: nameHint,
		})
	} else {
		f.Hidden = append(versionOf(s.Version), frame.Fact{"subscription", s.Name})
	}
	main.Fields = append(main.Fields,
		&field{
			Name: "events.providers", Label: "Providers", Value: strings.Join(s.Events.Providers, " "),
			Hint: "Separated by spaces: stripe github",
		},
		&field{
			Name: "events.types", Label: "Types", Value: strings.Join(s.Events.Types, " "),
			Hint: "Separated by spaces; * is a wildcard: customer.* invoice.paid",
		},
		&field{
			Name: "events.filter", Label: "Filter", Value: s.Events.Filter, Hint: `jq that has to give true: .body.livemode == true`,
		},
		formOf(s, to),
		&field{
			Name: "order_by", Label: "Order by", Value: string(s.OrderBy),
			Hint: `jq that gives a key: events of one key are delivered one at a time, in order. Empty: no order.`,
		},
		&field{Name: "active", Label: "Deliver new events", Kind: fieldCheck, Value: textOfCheck(s.Active)})
	f.Groups = []fieldGroup{main}
	return f
}

// formOf returns the field for the format of delivered events.
func formOf(s delivery.Subscription, to delivery.Destination) *field {
	if to.Temporal == nil {
		return &field{
			Name: "body", Label: "Body", Kind: fieldArea, Value: s.Body,
			Hint: `raw, or empty: the original bytes; envelope: with metadata; cloudevents; or jq, whose first value is sent as JSON.`,
		}
	}
	text := ""
	if w := (workflowForm{s.Start, s.Signal, s.SignalWithStart}); w != (workflowForm{}) {
		if encoded, err := json.MarshalIndent(w, "", "  "); err == nil {
			text = string(encoded)
		}
	}
	return &field{
		Name: "workflow", Label: "Workflow (JSON)", Kind: fieldArea, Value: text,
		Covers: []string{"start", "signal", "signal_with_start"},
		Hint:   `One of start, signal and signal_with_start, as in the API: {"start":{"workflow_id":".id","type":"Order"}}`,
	}
}

func textOfCheck(on bool) string {
	if on {
		return "true"
	}
	return ""
}

// subscription applies the form to s and keeps fields that the form doesn't show.
func (f *form) subscription(s delivery.Subscription) delivery.Subscription {
	if name := f.field("name"); name != nil {
		s.Name = name.Value
	}
	s.Events = delivery.Events{
		Providers: f.names("events.providers", s.Events.Providers), Types: f.names("events.types", s.Events.Types),
		Filter: f.text("events.filter"),
	}
	s.Active, s.OrderBy = f.text("active") != "", delivery.JQ(f.text("order_by"))
	if f.field("body") != nil {
		s.Body = f.text("body")
	}
	if f.field("workflow") != nil {
		var w workflowForm
		f.object("workflow", &w)
		s.Start, s.Signal, s.SignalWithStart = w.Start, w.Signal, w.SignalWithStart
	}
	return s
}

// names parses the names in a field. Names with a space or a comma, which the field would split, stay together until a user
// edits the field.
func (f *form) names(field string, stored []string) []string {
	if f.text(field) == strings.TrimSpace(strings.Join(stored, " ")) {
		return stored
	}
	if slices.ContainsFunc(stored, func(name string) bool { return len(strings.FieldsFunc(name, isSeparator)) != 1 }) {
		f.refuse(field, "have names with spaces or commas, which can't be edited here: use the API")
	}
	return f.words(field)
}

// subscriptionAt returns the destination in the path and the subscription being edited; a new one if the path names none.
func (c *Console) subscriptionAt(ctx *fiber.Ctx) (s delivery.Subscription, to delivery.Destination, title string, err error) {
	name, err := httpapi.PathText(ctx, "name")
	if err != nil {
		return s, to, "", err
	}
	if to, err = c.API.Outbound.Destinations.Destination(ctx.UserContext(), name); err != nil {
		return s, to, "", err
	}
	if ctx.FormValue("subscription") == "" {
		return delivery.Subscription{To: to.Name, Active: true}, to, "New subscription to " + to.Name, nil
	}
	if _, name, err = c.subscriptionOf(ctx); err != nil {
		return s, to, "", err
	}
	s, err = c.API.Outbound.Subscriptions.Subscription(ctx.UserContext(), name)
	return s, to, "Edit " + s.Name, err
}

func (c *Console) editSubscription(ctx *fiber.Ctx) error {
	s, to, title, err := c.subscriptionAt(ctx)
	if err != nil {
		return err
	}
	return c.showForm(ctx, title, subscriptionForm(s, to))
}

func (c *Console) saveSubscription(ctx *fiber.Ctx) error {
	stored, to, title, err := c.subscriptionAt(ctx)
	if err != nil {
		return err
	}
	f := subscriptionForm(stored, to)
	f.read(ctx)
	wanted := deliveryapi.SubscriptionRequest{Subscription: f.subscription(stored)}
	if stored.ID != 0 {
		f.changedMeanwhile(ctx, stored.Version)
	}
	if f.failed() {
		return c.showForm(ctx, title, f)
	}
	made, err := c.applySubscription(ctx, wanted)
	if err != nil {
		return c.showErrors(ctx, title, f, err)
	}
	return c.showMade(ctx, madePage{What: "Subscription " + made.Name, Name: to.Name, Warnings: made.Warnings})
}

func (c *Console) applySubscription(
	ctx *fiber.Ctx, wanted deliveryapi.SubscriptionRequest,
) (deliveryapi.SubscriptionView, error) {
	if wanted.ID == 0 {
		return c.API.Outbound.CreateSubscription(ctx, wanted)
	}
	return c.API.Outbound.ApplySubscription(httpapi.RequestContext(ctx), ctx, wanted)
}

// setActive activates or deactivates a subscription for new events.
func (c *Console) setActive(ctx *fiber.Ctx) error {
	s, to, _, err := c.subscriptionAt(ctx)
	if err != nil {
		return err
	}
	s.Active = ctx.FormValue("active") != ""
	if _, err := c.applySubscription(ctx, deliveryapi.SubscriptionRequest{Subscription: s}); err != nil {
		return err
	}
	if s.Active {
		return c.Done(ctx, destinationPath(to.Name), s.Name+" delivers new events again. A resend sends the events in between.")
	}
	return c.Done(ctx, destinationPath(to.Name), s.Name+" delivers no new events. What waits for it is still delivered.")
}

func (c *Console) confirmUnsubscribe(ctx *fiber.Ctx) error {
	s, to, _, err := c.subscriptionAt(ctx)
	if err != nil {
		return err
	}
	if s.ID == 0 {
		return httpapi.MissingField("subscription")
	}
	waiting, err := c.API.Outbound.Deliveries.CountCancelable(ctx.UserContext(), delivery.Query{SubscriptionID: s.ID})
	if err != nil {
		return err
	}
	shown := frame.Number(waiting)
	if waiting > delivery.MaxCanceled {
		shown = "more than " + frame.Number(delivery.MaxCanceled)
	}
	destination, name := to.Name, s.Name
	return c.Ask(ctx, frame.Confirm{
		Section: destinations, Title: "Delete " + name,
		Question: "The subscription is deleted, and its pending deliveries are canceled.",
		Facts:    []frame.Fact{{"Subscription", name}, {"Destination", destination}, {"Pending", shown}},
		Action:   destinationPath(destination) + "/unsubscribe", Button: "Delete subscription", Reason: "optional", Destroys: true,
		Fields: []frame.Fact{{"subscription", name}}, Back: destinationPath(destination),
	})
}

func (c *Console) unsubscribe(ctx *fiber.Ctx) error {
	destination, name, err := c.subscriptionOf(ctx)
	if err != nil {
		return err
	}
	reason, err := reasonOf(ctx)
	if err != nil {
		return err
	}
	gone, err := c.API.Outbound.Subscriptions.DeleteSubscription(ctx.UserContext(), name, httpapi.Actor(ctx, reason))
	if err != nil {
		return err
	}
	done := "Subscription " + name + " is deleted. Deliveries canceled: " + frame.Number(gone.Canceled) + "."
	if gone.Destination == destination {
		return c.Done(ctx, destinationsPath, done+" Its destination, which served nothing else, is deleted too.")
	}
	return c.Done(ctx, destinationPath(destination), done)
}
