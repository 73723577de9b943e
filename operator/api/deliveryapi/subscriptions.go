package deliveryapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/event/oversight"
	"holdfast/operator/httpapi"
)

// SubscriptionView is a subscription with its destination's health.
type SubscriptionView struct {
	delivery.Subscription

	// URL is its destination's endpoint, of which viewers see only the host.
	URL string `json:"url,omitempty"`
	// RateLimit is its destination's rate limit, in requests per second; absent if there is none.
	RateLimit float64            `json:"rate_limit,omitempty"`
	Condition delivery.Condition `json:"condition"`
	// Secret is the destination's secret if this request set it. It is never shown again.
	Secret string `json:"secret,omitempty"`
	// Warnings are likely mistakes in the applied request.
	Warnings []string `json:"warnings,omitempty"`
}

// ViewSubscription returns the view of a subscription to a destination.
func ViewSubscription(s delivery.Subscription, to delivery.Destination, how delivery.Condition) SubscriptionView {
	view := SubscriptionView{Subscription: s, Condition: how, RateLimit: to.PerSecond()}
	if to.HTTP != nil {
		view.URL = to.HTTP.URL
	}
	return view
}

func viewSubscription(
	c *fiber.Ctx, s delivery.Subscription, to delivery.Destination, how delivery.Condition,
) SubscriptionView {
	return ViewSubscription(s, viewDestination(c, to, how).Destination, how)
}

var subscriptionName = httpapi.TextParameter("name", "Name or number of the subscription.")

func (o *API) subscriptionRoutes() []httpapi.Route {
	const one = "/subscriptions/:name"
	return append(o.targetRoutes(one), o.applyRoute(),
		httpapi.Get("listSubscriptions", "/subscriptions", "Subscriptions by name, with the health of their destinations",
			o.listSubscriptions).
			With(pageParameters...).Returns(fiber.StatusOK, httpapi.List[SubscriptionView]{}),
		httpapi.Post("createSubscription", "/subscriptions", "Create a subscription, or in the flat form also its destination",
			o.createSubscription).
			Explain("The flat form has url, event_types, secret and rate_limit instead of to. It creates a destination and a "+
				"subscription of the same name; without a name, the name is derived from the request. A name that is taken, in the "+
				"flat form also by a destination, is refused with 409: use PATCH to change what exists.").
			Takes(SubscriptionRequest{}).Returns(fiber.StatusCreated, SubscriptionView{}),
		httpapi.Get("showSubscription", one, "One subscription", o.showSubscription).
			With(subscriptionName).Returns(fiber.StatusOK, SubscriptionView{}),
		httpapi.Get("listOrder", one+"/order", "Ordered keys of a subscription, the longest blocked first, and how many wait",
			o.listOrder).
			Explain("The head of a key is the one delivery of it that may be attempted; the others of the key wait behind it.").
			With(subscriptionName, httpapi.TextParameter("key", "Only this key."), httpapi.LimitParameter).
			Returns(fiber.StatusOK, delivery.Ordered{}),
		httpapi.Put("replaceSubscription", one, "Replace a subscription, or create it", o.replaceSubscription).
			Explain("Fields missing in the body get their defaults.").
			With(subscriptionName).Takes(subscriptionChange{}).Returns(fiber.StatusOK, SubscriptionView{}),
		httpapi.Patch("patchSubscription", one, "Change fields of a subscription", o.patchSubscription).
			With(subscriptionName).Takes(subscriptionChange{}).Returns(fiber.StatusOK, SubscriptionView{}),
		httpapi.Delete("deleteSubscription", one, "Delete a subscription, and cancel its pending deliveries", o.deleteSubscription).
			With(subscriptionName).MayTake(httpapi.Reasoned{}).Returns(fiber.StatusOK, delivery.Removed{}),
		httpapi.Post("trySubscription", one+"/test", "Send one event to a subscription now: a stored one, or a sample",
			o.trySubscription).
			Explain("The endpoint handles it like any event.").
			With(subscriptionName).MayTake(TrialRequest{}).Returns(fiber.StatusOK, TrialView{}),
		httpapi.Get("checkSubscription", one+"/check", "Check a subscription for mistakes, and send nothing", o.checkSubscription).
			With(subscriptionName).Returns(fiber.StatusOK, httpapi.List[delivery.Finding]{}),
		httpapi.Post("checkSubscriptionWith", one+"/check", "Check a subscription with an event of your own, and send nothing",
			o.checkSubscription).
			With(subscriptionName).MayTake(CheckRequest{}).Returns(fiber.StatusOK, httpapi.List[delivery.Finding]{}))
}

// targetRoutes returns the routes that change the destination of a subscription.
func (o *API) targetRoutes(one string) []httpapi.Route {
	change := func(name, verb, about string, handler fiber.Handler) httpapi.Route {
		return httpapi.Post(name, one+"/"+verb, about, handler).
			With(subscriptionName).MayTake(httpapi.Reasoned{}).Returns(fiber.StatusOK, DestinationView{})
	}
	return []httpapi.Route{
		change("rotateSecretOfSubscription", "rotate-secret", "Set a new secret for its destination, which is shown once",
			o.rotateSecret(o.targetOf)).
			MayTake(Rotation{}),
		change("pauseSubscription", "pause", "Pause its destination, with all subscriptions to it",
			o.setState(o.targetOf, delivery.DestinationPaused)),
		change("resumeSubscription", "resume", "Resume its destination", o.setState(o.targetOf, delivery.DestinationReady)),
		change("disableSubscription", "disable", "Disable its destination, with all subscriptions to it",
			o.setState(o.targetOf, delivery.DestinationDisabled)),
	}
}

func (o *API) listOrder(c *fiber.Ctx) error {
	q := httpapi.QueryOf(c, httpapi.TextParameter("key", ""), httpapi.LimitParameter)
	key, limit := q.Text("key"), q.Limit()
	if q.Err != nil {
		return q.Err
	}
	name, err := httpapi.PathText(c, "name")
	if err != nil {
		return err
	}
	return httpapi.RespondWith(c, func(ctx context.Context) (delivery.Ordered, error) {
		s, err := o.Subscriptions.Subscription(ctx, name)
		if err != nil {
			return delivery.Ordered{}, err
		}
		return o.Deliveries.Ordered(ctx, s.ID, key, limit)
	})
}

func (o *API) listSubscriptions(c *fiber.Ctx) error {
	after, limit, err := afterName(c)
	if err != nil {
		return err
	}
	ctx := httpapi.RequestContext(c)
	all, err := o.Subscriptions.SubscriptionsAfter(ctx, after, limit+1)
	if err != nil {
		return err
	}
	ids := make([]int64, len(all))
	for i, s := range all {
		ids[i] = s.DestinationID
	}
	how, err := o.Destinations.Conditions(ctx, ids)
	if err != nil {
		return err
	}
	to, err := o.Destinations.DestinationsOf(ctx, ids)
	if err != nil {
		return err
	}
	return c.JSON(httpapi.NewPage(all, limit,
		func(s delivery.Subscription) SubscriptionView {
			return viewSubscription(c, s, to[s.DestinationID], how[s.DestinationID])
		},
		func(s delivery.Subscription) nameCursor { return nameCursor{s.Name} }))
}

func (o *API) showSubscription(c *fiber.Ctx) error {
	return httpapi.ReadByPath(c, "name", func(ctx context.Context, name string) error {
		s, err := o.Subscriptions.Subscription(ctx, name)
		if err != nil {
			return err
		}
		to, err := o.Destinations.Destination(ctx, s.To)
		if err != nil {
			return err
		}
		how, err := o.Destinations.Condition(ctx, s.DestinationID)
		if err != nil {
			return err
		}
		return c.JSON(viewSubscription(c, s, to, how))
	})
}

func (o *API) targetOf(ctx context.Context, subscription string) (string, error) {
	s, err := o.Subscriptions.Subscription(ctx, subscription)
	return s.To, err
}

// subscriptionChange is the body of a change of an existing subscription.
type subscriptionChange struct {
	delivery.Subscription
	httpapi.Reasoned
}

// SubscriptionRequest is the body of a request that creates a subscription.
type SubscriptionRequest struct {
	delivery.Subscription
	httpapi.Reasoned
	Flat
}

// Flat has fields that create a subscription and its destination together, for clients without a notion of destinations.
type Flat struct {
	// URL is the endpoint of a new destination, in the flat form.
	URL string `json:"url,omitempty"`
	// EventTypes are globs, in the flat form.
	EventTypes []string `json:"event_types,omitempty"`
	// Secret is the new destination's secret, in the flat form. By default, one is generated.
	Secret string `json:"secret,omitempty" jsonschema:"minLength=16,maxLength=512"`
	// RateLimit is in requests per second, in the flat form.
	RateLimit *float64 `json:"rate_limit,omitempty" jsonschema:"minimum=0.001,maximum=1000000"`
	// Retry is the new destination's retry policy, in the flat form.
	Retry *delivery.Retry `json:"retry,omitempty"`
	// Signature is how the destination signs; nil is Standard Webhooks. Requests can't set it.
	Signature json.RawMessage `json:"-"`
}

func (f Flat) isFlat() bool {
	return f.URL != "" || f.EventTypes != nil || f.Secret != "" || f.RateLimit != nil || f.Retry != nil
}

func (o *API) createSubscription(c *fiber.Ctx) error {
	body := SubscriptionRequest{Subscription: delivery.Subscription{Active: true}}
	if err := httpapi.ReadChange(c, &body); err != nil {
		return err
	}
	view, err := o.CreateSubscription(c, body)
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusCreated).JSON(view)
}

// CreateSubscription creates a subscription for the caller of a request and, in the flat form, its destination. It refuses a
// name that is taken.
func (o *API) CreateSubscription(c *fiber.Ctx, body SubscriptionRequest) (view SubscriptionView, err error) {
	ctx := httpapi.RequestContext(c)
	if body.isFlat() {
		return o.createFlat(ctx, c, body)
	}
	if err := mustBeNew(ctx, "subscription", body.Name, o.Subscriptions.Subscription); err != nil {
		return view, err
	}
	body.ID, body.DestinationID, body.Version = 0, 0, delivery.MustBeNew
	return o.ApplySubscription(ctx, c, body)
}

// ApplySubscription creates or replaces a subscription as requested. The view has warnings.
func (o *API) ApplySubscription(ctx context.Context, c *fiber.Ctx, body SubscriptionRequest) (SubscriptionView, error) {
	return o.applySubscription(ctx, c, body, nil, "")
}

// applySubscription also returns the destination and its secret if the request created them.
func (o *API) applySubscription(
	ctx context.Context, c *fiber.Ctx, body SubscriptionRequest, to *delivery.Destination, secret string,
) (view SubscriptionView, err error) {
	s, err := o.Subscriptions.ApplySubscription(ctx, body.Subscription, httpapi.Actor(c, body.Reason))
	if err != nil {
		return view, err
	}
	if to == nil {
		stored, err := o.Destinations.Destination(ctx, s.To)
		if err != nil {
			return view, err
		}
		to = &stored
	}
	how, err := o.Destinations.Condition(ctx, s.DestinationID)
	view = viewSubscription(c, s, *to, how)
	view.Secret, view.Warnings = secret, o.Changes.Warnings(to, &s)
	if err != nil && secret != "" { // no other response ever has the secret
		view.Warnings, err = append(view.Warnings, conditionUnknown), nil
	}
	return view, err
}

// createFlat creates a destination and its only subscription under one name. If the second step fails, the destination stays and
// can be deleted or subscribed to.
func (o *API) createFlat(ctx context.Context, c *fiber.Ctx, body SubscriptionRequest) (view SubscriptionView, err error) {
	switch {
	case body.URL == "":
		return view, httpapi.MissingField("url")
	case body.To != "":
		return view, httpapi.BadField("to") // the flat form creates its own destination
	case body.EventTypes != nil && body.Events.Types != nil:
		return view, httpapi.BadField("event_types")
	}
	if body.EventTypes != nil {
		body.Events.Types = body.EventTypes
	}
	if body.Name == "" {
		body.Name = nameFor(body.URL, body.Events)
	}
	body.To, body.ID, body.DestinationID, body.Version = body.Name, 0, 0, delivery.MustBeNew
	if err := mustBeNew(ctx, "subscription", body.Name, o.Subscriptions.Subscription); err != nil {
		return view, err
	}
	if err := mustBeNew(ctx, "destination", body.Name, o.Destinations.Destination); err != nil {
		return view, err
	}
	to := delivery.Destination{
		Name: body.Name, Version: delivery.MustBeNew, HTTP: &delivery.HTTP{URL: body.URL, Signature: body.Signature},
	}
	if body.RateLimit != nil {
		if to.Rate = delivery.RateOf(*body.RateLimit); to.Rate == nil {
			return view, httpapi.BadField("rate_limit")
		}
	}
	if body.Retry != nil {
		to.Retry = *body.Retry
	}
	if err := body.CheckFor(to); err != nil {
		return view, err // fail before creating a destination whose secret would be lost
	}
	_, secret, err := o.Changes.Apply(ctx, to, body.Secret, httpapi.Actor(c, body.Reason))
	if err != nil {
		return view, err
	}
	return o.applySubscription(ctx, c, body, &to, secret)
}

var notForNames = regexp.MustCompile(`[^a-z0-9]+`)

// nameFor derives a name for a request without one: the host, plus a suffix that distinguishes requests to the same host. Equal
// requests get equal names, so a repeated request is refused and nothing is delivered twice.
func nameFor(address string, events delivery.Events) string {
	host := "endpoint"
	if u, err := url.Parse(address); err == nil && u.Hostname() != "" {
		host = strings.Trim(notForNames.ReplaceAllString(strings.ToLower(u.Hostname()), "-"), "-")
	}
	const most = 40
	mark := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", address, events.Providers, events.Types, events.Filter))
	return strings.TrimRight(host[:min(len(host), most)], "-") + "-" + hex.EncodeToString(mark[:4])
}

// replaceSubscription replaces the whole subscription: fields missing in the body get their defaults.
func (o *API) replaceSubscription(c *fiber.Ctx) error {
	name, err := httpapi.PathText(c, "name")
	if err != nil {
		return err
	}
	return o.changeSubscription(httpapi.RequestContext(c), c, delivery.Subscription{Name: name, Active: true})
}

// patchSubscription changes only the fields in the body.
func (o *API) patchSubscription(c *fiber.Ctx) error {
	name, err := httpapi.PathText(c, "name")
	if err != nil {
		return err
	}
	ctx := httpapi.RequestContext(c)
	stored, err := o.Subscriptions.Subscription(ctx, name)
	if err != nil {
		return err
	}
	return o.changeSubscription(ctx, c, stored)
}

func (o *API) changeSubscription(ctx context.Context, c *fiber.Ctx, before delivery.Subscription) error {
	body := subscriptionChange{Subscription: before}
	if err := httpapi.ReadChange(c, &body); err != nil {
		return err
	}
	if body.Name != before.Name {
		return httpapi.BadField("name") // names are permanent
	}
	body.ID, body.DestinationID, body.Version = before.ID, before.DestinationID, before.Version
	view, err := o.ApplySubscription(ctx, c, SubscriptionRequest{Subscription: body.Subscription, Reasoned: body.Reasoned})
	if err != nil {
		return err
	}
	return c.JSON(view)
}

func (o *API) deleteSubscription(c *fiber.Ctx) error {
	return httpapi.ChangeByPath(c, "name", func(ctx context.Context, name string, by oversight.Actor) error {
		gone, err := o.Subscriptions.DeleteSubscription(ctx, name, by)
		if err != nil {
			return err
		}
		return c.JSON(gone)
	})
}

// trialTimeout bounds a trial: an attempt may take longer than other requests.
const trialTimeout = 25 * time.Second
