package dispatcher

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/httpapi"
)

// signature is the scheme that the dispatcher's destinations check, as in docs/moving/dispatcher.sql: the hex HMAC-SHA256 of the
// body.
var signature = json.RawMessage(
	`{"hmac":{"signed":"{body}","signature":{"header":"x-webhook-signature","grammar":"prefix","prefix":"sha256="}}}`)

// subscriptionView is a subscription in the dispatcher's format.
type subscriptionView struct {
	ID         string   `json:"id"`
	URL        string   `json:"url"`
	EventTypes []string `json:"event_types"`
	RateLimit  float64  `json:"rate_limit"`
	Active     bool     `json:"active"`
	// Retry is the retry policy of its endpoint.
	Retry delivery.Retry `json:"retry,omitzero"`
	// Secret is shown once, in the response to its creation.
	Secret string `json:"secret,omitempty"`
}

func viewSubscription(s delivery.Subscription, to delivery.Destination) subscriptionView {
	return subscriptionView{
		ID: s.Name, URL: to.HTTP.URL, EventTypes: append([]string{}, s.Events.Types...), RateLimit: to.PerSecond(),
		Active: s.Active, Retry: to.Retry,
	}
}

// isOurs reports whether a subscription belongs to the dispatcher: it selects only published events and has its own endpoint.
func isOurs(s delivery.Subscription, to delivery.Destination) bool {
	return slices.Equal(s.Events.Providers, []string{Provider}) && s.Events.Filter == "" && s.To == s.Name && to.HTTP != nil
}

func (s *Server) listSubscriptions(c *fiber.Ctx) error {
	if q := httpapi.QueryOf(c); q.Err != nil {
		return q.Err
	}
	all := []subscriptionView{}
	err := s.each(httpapi.RequestContext(c), func(one delivery.Subscription, to delivery.Destination) {
		if isOurs(one, to) {
			all = append(all, viewSubscription(one, to))
		}
	})
	if err != nil {
		return err
	}
	return c.JSON(all)
}

// each calls do for every subscription of the installation with its destination.
func (s *Server) each(ctx context.Context, do func(delivery.Subscription, delivery.Destination)) error {
	after := ""
	for {
		page, err := s.API.Outbound.Subscriptions.SubscriptionsAfter(ctx, after, httpapi.MaxLimit)
		if err != nil {
			return err
		}
		ids := make([]int64, len(page))
		for i, one := range page {
			ids[i], after = one.DestinationID, one.Name
		}
		to, err := s.API.Outbound.Destinations.DestinationsOf(ctx, ids)
		if err != nil {
			return err
		}
		for _, one := range page {
			do(one, to[one.DestinationID])
		}
		if len(page) < httpapi.MaxLimit {
			return nil
		}
	}
}

// own returns the names of the dispatcher's subscriptions. Its clients see deliveries only to these.
func (s *Server) own(ctx context.Context) (map[string]bool, error) {
	own := map[string]bool{}
	err := s.each(ctx, func(one delivery.Subscription, to delivery.Destination) { own[one.Name] = isOurs(one, to) })
	return own, err
}

// mustBeAlone refuses to change a destination that another subscription uses.
func (s *Server) mustBeAlone(ctx context.Context, found delivery.Subscription) error {
	var others []string
	err := s.each(ctx, func(one delivery.Subscription, _ delivery.Destination) {
		if one.To == found.To && one.Name != found.Name {
			others = append(others, one.Name)
		}
	})
	if err == nil && len(others) > 0 {
		err = &httpapi.RefusalError{
			Code: httpapi.CodeRefused, Detail: "another subscription uses this endpoint: change it with the operator API",
		}
	}
	return err
}

// subscription returns the dispatcher's subscription with an ID, and its destination; event.ErrNotFound if there is none.
func (s *Server) subscription(ctx context.Context, id string) (found delivery.Subscription, to delivery.Destination, err error) {
	found, err = s.API.Outbound.Subscriptions.Subscription(ctx, strings.ToLower(id))
	if err != nil {
		return found, to, err
	}
	if !strings.EqualFold(found.Name, id) { // its row ID matches
		return found, to, event.ErrNotFound
	}
	to, err = s.API.Outbound.Destinations.Destination(ctx, found.To)
	if err == nil && !isOurs(found, to) {
		err = event.ErrNotFound
	}
	return found, to, err
}

func (s *Server) showSubscription(c *fiber.Ctx) error {
	return httpapi.ReadByPath(c, "id", func(ctx context.Context, id string) error {
		found, to, err := s.subscription(ctx, id)
		if err != nil {
			return err
		}
		return c.JSON(viewSubscription(found, to))
	})
}

// subscriptionRequest is the body of a change. Missing fields stay unchanged.
type subscriptionRequest struct {
	httpapi.Reasoned

	ID         string    `json:"id"`
	URL        *string   `json:"url"`
	EventTypes *[]string `json:"event_types"`
	Secret     string    `json:"secret"`
	// RateLimit is in requests per second; 0 is unlimited.
	RateLimit *float64 `json:"rate_limit"`
	Active    *bool    `json:"active"`
	// Retry is as in subscriptions.yaml. New subscriptions retry like the dispatcher did by default.
	Retry *delivery.Retry `json:"retry"`
}

func (s *Server) createSubscription(c *fiber.Ctx) error {
	var body subscriptionRequest
	if err := httpapi.ReadChange(c, &body); err != nil {
		return err
	}
	if body.URL == nil {
		return httpapi.MissingField("url")
	}
	if err := s.mustBeFree(c, body.ID); err != nil {
		return err
	}
	wanted := deliveryapi.SubscriptionRequest{
		Subscription: delivery.Subscription{
			Name: strings.ToLower(body.ID), Active: body.Active == nil || *body.Active,
			Events: delivery.Events{Providers: []string{Provider}},
		},
		Reasoned: body.Reasoned,
		Flat:     deliveryapi.Flat{URL: *body.URL, Secret: body.Secret, Signature: signature},
	}
	if body.EventTypes != nil {
		wanted.EventTypes = *body.EventTypes
	}
	if body.RateLimit != nil && *body.RateLimit != 0 {
		wanted.RateLimit = body.RateLimit
	}
	if wanted.Retry = body.Retry; wanted.Retry == nil {
		wanted.Retry = &delivery.Retry{Named: delivery.RetryDispatcher}
	}
	made, err := s.API.Outbound.CreateSubscription(c, wanted)
	if err != nil {
		return err
	}
	view := subscriptionView{
		ID: made.Name, URL: made.URL, EventTypes: append([]string{}, made.Events.Types...), RateLimit: made.RateLimit,
		Active: made.Active, Retry: *wanted.Retry, Secret: made.Secret,
	}
	return c.Status(fiber.StatusCreated).JSON(view)
}

// mustBeFree refuses the ID of an existing subscription.
func (s *Server) mustBeFree(c *fiber.Ctx, id string) error {
	if id == "" {
		return nil
	}
	_, _, err := s.subscription(httpapi.RequestContext(c), id)
	if errors.Is(err, event.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return &httpapi.RefusalError{Code: httpapi.CodeRefused, Field: "id", Detail: "a subscription with this ID exists"}
}

func (s *Server) changeSubscription(c *fiber.Ctx) error {
	id, err := httpapi.PathText(c, "id")
	if err != nil {
		return err
	}
	var body subscriptionRequest
	if err := httpapi.ReadChange(c, &body); err != nil {
		return err
	}
	ctx := httpapi.RequestContext(c)
	found, to, err := s.subscription(ctx, id)
	if err != nil {
		return err
	}
	if body.ID != "" && body.ID != id {
		return httpapi.BadField("id") // IDs are permanent
	}
	if body.EventTypes != nil {
		found.Events.Types = *body.EventTypes
	}
	if body.Active != nil {
		found.Active = *body.Active
	}
	if err := found.Check(); err != nil {
		return err
	}
	if to, err = s.changeDestination(ctx, found, to, body, httpapi.Actor(c, body.Reason)); err != nil {
		return err
	}
	found, err = s.API.Outbound.Subscriptions.ApplySubscription(ctx, found, httpapi.Actor(c, body.Reason))
	if err != nil {
		return err
	}
	return c.JSON(viewSubscription(found, to))
}

// changeDestination changes the endpoint if the request has any of its fields.
func (s *Server) changeDestination(
	ctx context.Context, found delivery.Subscription, to delivery.Destination, body subscriptionRequest, by oversight.Actor,
) (delivery.Destination, error) {
	if body.URL == nil && body.RateLimit == nil && body.Retry == nil && body.Secret == "" {
		return to, nil
	}
	if err := s.mustBeAlone(ctx, found); err != nil {
		return to, err
	}
	endpoint := *to.HTTP
	to.HTTP = &endpoint
	if body.URL != nil {
		endpoint.URL = *body.URL
	}
	if body.RateLimit != nil {
		if to.Rate = delivery.RateOf(*body.RateLimit); to.Rate == nil && *body.RateLimit != 0 {
			return to, httpapi.BadField("rate_limit")
		}
	}
	if body.Retry != nil {
		to.Retry = *body.Retry
	}
	to, _, err := s.API.Outbound.Changes.Apply(ctx, to, body.Secret, by)
	return to, err
}

func (s *Server) deleteSubscription(c *fiber.Ctx) error {
	return httpapi.ChangeByPath(c, "id", func(ctx context.Context, id string, by oversight.Actor) error {
		found, _, err := s.subscription(ctx, id)
		if err != nil {
			return err
		}
		if _, err := s.API.Outbound.Subscriptions.DeleteSubscription(ctx, found.Name, by); err != nil {
			return err
		}
		return c.SendStatus(fiber.StatusNoContent)
	})
}
