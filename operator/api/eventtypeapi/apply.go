package eventtypeapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery/declared"
	"holdfast/event/eventtype"
	"holdfast/event/oversight"
	"holdfast/operator/httpapi"
)

// EventTypesRequest declares event types by name.
type EventTypesRequest struct {
	httpapi.Reasoned

	EventTypes map[string]eventtype.EventType `json:"event_types"`
	// Prune deletes what isn't declared.
	Prune bool `json:"prune,omitempty"`
	// DryRun only plans.
	DryRun bool `json:"dry_run,omitempty"`
}

// AppliedEventTypes is the plan, and what became of it.
type AppliedEventTypes struct {
	declared.Plan

	DryRun bool `json:"dry_run,omitempty"`
	// Problem says which change failed. Earlier ones were made, and the same request can be repeated.
	Problem string `json:"problem,omitempty"`
}

func (a *API) applyRoute() httpapi.Route {
	return httpapi.Post("applyEventTypes", "/event-types/apply", "Create and change event types so that they are as declared",
		a.apply).
		Explain("What is equal, or isn't declared, stays as it is. Each change has its own audit entry, and each ingress follows it "+
			"within seconds. If the declaration has mistakes, such as an invalid schema or an example that violates it, nothing is "+
			"changed, and the error lists them all. "+httpapi.SlowDetails).
		Takes(EventTypesRequest{}, "event_types").Returns(fiber.StatusOK, AppliedEventTypes{})
}

func (a *API) apply(c *fiber.Ctx) error {
	var body EventTypesRequest
	if err := httpapi.ReadChange(c, &body); err != nil {
		return err
	}
	by := httpapi.Actor(c, body.Reason)
	return httpapi.RespondSlowly(c, func(ctx context.Context) (done AppliedEventTypes, err error) {
		if done.Plan, err = a.plan(ctx, body); err != nil {
			return done, err
		}
		if done.DryRun = body.DryRun; done.DryRun {
			return done, nil
		}
		if err := a.applyPlan(ctx, body, done.Plan, by); err != nil {
			done.Problem = err.Error()
		}
		return done, nil
	})
}

func (a *API) plan(ctx context.Context, body EventTypesRequest) (p declared.Plan, err error) {
	if problems := problemsOf(body.EventTypes); len(problems) > 0 {
		return p, &httpapi.RefusalError{Code: httpapi.CodeBadField, Detail: "the declaration has mistakes", Problems: problems}
	}
	all, err := a.Store.EventTypes(ctx)
	if err != nil {
		return p, err
	}
	stored := map[string]eventtype.EventType{}
	for _, t := range all {
		stored[t.Name] = t
	}
	p, err = declared.PlanEventTypes(body.EventTypes, stored, body.Prune)
	if errors.Is(err, declared.ErrNothingDeclared) {
		err = &httpapi.RefusalError{Code: httpapi.CodeBadField, Field: "prune", Detail: err.Error()}
	}
	return p, err
}

// problemsOf sets each type's name from its key, and finds every mistake.
func problemsOf(types map[string]eventtype.EventType) (all []declared.Problem) {
	for _, name := range slices.Sorted(maps.Keys(types)) {
		t, in := types[name], "event_types."+name
		if t.Name != "" && t.Name != name {
			all = append(all, declared.Problem{In: in, Field: "name", Reason: "remove name: its name is its key"})
		}
		t.Name = name
		types[name] = t
		for _, p := range t.Problems() {
			all = append(all, declared.Problem{In: in, Field: p.Field, Reason: p.Field + ": " + p.Reason})
		}
	}
	return all
}

func (a *API) applyPlan(ctx context.Context, body EventTypesRequest, p declared.Plan, by oversight.Actor) error {
	for _, c := range p.Changes {
		var err error
		if c.Op == declared.Delete {
			err = a.Store.DeleteEventType(ctx, c.Name, by)
		} else {
			err = a.Store.ApplyEventType(ctx, body.EventTypes[c.Name], by)
		}
		if err != nil {
			return fmt.Errorf("%s %s %s (earlier changes were made): %w", c.Op, c.Kind, c.Name, err)
		}
	}
	return nil
}
