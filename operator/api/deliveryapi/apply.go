package deliveryapi

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery/declared"
	"holdfast/event/oversight"
	"holdfast/operator/httpapi"
)

// ApplyRequest declares destinations and subscriptions.
type ApplyRequest struct {
	httpapi.Reasoned
	declared.State

	// Secrets of new destinations, by name. Without one, an HTTP endpoint without a variable for its secrets gets a generated one.
	Secrets map[string]string `json:"secrets,omitempty"`
	// Prune deletes what isn't declared.
	Prune bool `json:"prune,omitempty"`
	// DryRun only plans.
	DryRun bool `json:"dry_run,omitempty"`
}

// Applied is the plan, and what became of it.
type Applied struct {
	declared.Plan

	DryRun bool `json:"dry_run,omitempty"`
	// Secrets are the new ones, which are never shown again.
	Secrets map[string]string `json:"secrets,omitempty"`
	// Problem says which change failed. Earlier ones were made, and the same request can be repeated.
	Problem string `json:"problem,omitempty"`
}

func (o *API) applyRoute() httpapi.Route {
	return httpapi.Post("applySubscriptions", "/subscriptions/apply",
		"Create and change destinations and subscriptions so that they are as declared", o.apply).
		Explain("What is equal, or isn't declared, stays as it is. Each change has its own audit entry. If the declaration has "+
			"mistakes, nothing is changed, and the error lists them all. "+httpapi.SlowDetails).
		Takes(ApplyRequest{}).Returns(fiber.StatusOK, Applied{})
}

func (o *API) apply(c *fiber.Ctx) error {
	var body ApplyRequest
	if err := httpapi.ReadChange(c, &body); err != nil {
		return err
	}
	if err := body.SetNames(); err != nil {
		return &httpapi.RefusalError{Code: httpapi.CodeBadField, Detail: err.Error()}
	}
	by := httpapi.Actor(c, body.Reason)
	return httpapi.RespondSlowly(c, func(ctx context.Context) (done Applied, err error) {
		if done.Plan, err = o.plan(ctx, body); err != nil {
			return done, err
		}
		if done.DryRun = body.DryRun; done.DryRun {
			return done, nil
		}
		if done.Secrets, err = o.applyPlan(ctx, body, done.Plan, by); err != nil {
			done.Problem = err.Error()
		}
		return done, nil
	})
}

// plan compares a declaration with what is stored. It masks header values that are stored, which are never read, so that equal
// ones compare as equal.
func (o *API) plan(ctx context.Context, body ApplyRequest) (p declared.Plan, err error) {
	for name, d := range body.Destinations {
		if body.Destinations[name], err = o.Stored.MaskHeaders(ctx, d); err != nil {
			return p, err
		}
	}
	stored, err := o.stored(ctx)
	if err != nil {
		return p, err
	}
	if problems := body.Check(stored, o.CheckSignature); len(problems) > 0 {
		return p, &httpapi.RefusalError{Code: httpapi.CodeBadField, Detail: "the declaration has mistakes", Problems: problems}
	}
	p, err = declared.PlanOf(body.State, stored, body.Prune)
	if errors.Is(err, declared.ErrNothingDeclared) {
		err = &httpapi.RefusalError{Code: httpapi.CodeBadField, Field: "prune", Detail: err.Error()}
	}
	if err != nil {
		return p, err
	}
	p.Hide()
	p.Warn(body.State, stored, o.Changes.Warnings)
	return p, o.countCanceled(ctx, p, stored)
}

func (o *API) stored(ctx context.Context) (declared.State, error) {
	destinations, err := o.Stored.Destinations(ctx)
	if err != nil {
		return declared.State{}, err
	}
	subscriptions, err := o.Stored.Subscriptions(ctx)
	return declared.Stored(destinations, subscriptions), err
}

// countCanceled counts the waiting deliveries of subscriptions to delete.
func (o *API) countCanceled(ctx context.Context, p declared.Plan, stored declared.State) error {
	var ids []int64
	for _, name := range p.Deleted(declared.KindSubscription) {
		ids = append(ids, stored.Subscriptions[name].ID)
	}
	if len(ids) == 0 {
		return nil
	}
	counts, err := o.Stored.CountOpen(ctx, ids)
	for i, c := range p.Changes {
		if c.Op == declared.Delete && c.Kind == declared.KindSubscription {
			p.Changes[i].Canceled = counts[stored.Subscriptions[c.Name].ID]
		}
	}
	return err
}

// applyPlan makes the changes one by one, and then all deletions, of which there may be thousands.
func (o *API) applyPlan(
	ctx context.Context, body ApplyRequest, p declared.Plan, by oversight.Actor,
) (secrets map[string]string, err error) {
	secrets = map[string]string{}
	for _, c := range p.Changes {
		if c.Op == declared.Delete {
			continue
		}
		if err := o.applyChange(ctx, body, c, secrets, by); err != nil {
			return secrets, fmt.Errorf("%s %s %s (earlier changes were made): %w", c.Op, c.Kind, c.Name, err)
		}
	}
	if names := p.Deleted(declared.KindSubscription); len(names) > 0 {
		err = o.Pruner.DeleteSubscriptions(ctx, names, by)
	}
	if names := p.Deleted(declared.KindDestination); err == nil && len(names) > 0 {
		err = o.Pruner.DeleteDestinations(ctx, names, by)
	}
	if err != nil {
		err = fmt.Errorf("delete what isn't declared (earlier changes were made): %w", err)
	}
	return secrets, err
}

func (o *API) applyChange(
	ctx context.Context, body ApplyRequest, c declared.Change, secrets map[string]string, by oversight.Actor,
) (err error) {
	if c.Kind == declared.KindSubscription {
		_, err = o.Subscriptions.ApplySubscription(ctx, body.Subscriptions[c.Name].Subscription, by)
		return err
	}
	_, secret, err := o.Changes.Apply(ctx, body.Destinations[c.Name], body.Secrets[c.Name], by)
	if secret != "" {
		secrets[c.Name] = secret
	}
	return err
}
