package agents

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/operator/api"
	"holdfast/operator/api/definitionapi"
	"holdfast/operator/httpapi"
)

func (t *tools) addPlans(s *mcp.Server) {
	add(t, s, reads("plan_replay", "Plan a replay", "What replaying one dead letter would do now, and the plan that replay "+
		"needs. Changes nothing. Needs the role operator."), planReplay)
	add(t, s, reads("plan_redrive", "Plan a redrive", "How many dead letters of one provider a redrive would run, and the plan, "+
		"until and count that redrive needs, with the same filter. Changes nothing. Needs the role operator."), planRedrive)
}

// replayPlan is what the plan of a replay is made for: it is void once the dead letter fails or runs again, or another definition
// reads it.
type replayPlan struct {
	Tool       string
	DeadLetter string
	State      event.DeadLetterState
	Failures   int
	RunID      string
	Definition string
}

func (c call) replayPlan(ctx context.Context, id string) (d api.DeadLetterDetail, p replayPlan, err error) {
	if d, err = c.deadLetter(ctx, id); err != nil {
		return d, p, err
	}
	digest, err := c.digest(ctx, d.Provider)
	return d, replayPlan{"replay", id, d.State, d.Failures, d.Run.RunID, digest}, err
}

// digest returns that of a provider's definition in use.
func (c call) digest(ctx context.Context, provider string) (string, error) {
	var definition definitionapi.Definition
	err := c.get(ctx, path("definitions", provider), nil, &definition)
	return definition.Digest, err
}

func planReplay(ctx context.Context, c call, in letterArguments) (any, error) {
	d, plan, err := c.replayPlan(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	now, err := c.try(ctx, d, "")
	if err != nil {
		return nil, err
	}
	out := struct {
		Plan       string    `json:"plan"`
		ValidUntil time.Time `json:"valid_until"`
		DeadLetter string    `json:"dead_letter"`
		EventID    string    `json:"event"`
		Provider   string    `json:"provider"`
		Count      int       `json:"count"`
		Step       string    `json:"failed_step"`
		Now        tried     `json:"with_the_definition_in_use"`
	}{DeadLetter: in.ID, EventID: d.EventID, Provider: d.Provider, Count: 1, Step: string(d.Failure.Step), Now: now}
	out.Plan, out.ValidUntil = c.newPlan(plan)
	return out, nil
}

// redrivePlan is what the plan of a redrive is made for: it is void once the number or the definition has changed. It has one
// definition, so it is for one provider.
type redrivePlan struct {
	Tool       string
	Filter     filter
	Until      time.Time
	Count      int64
	Definition string
}

func (c call) redrivePlan(ctx context.Context, f filter, until time.Time, count int64) (redrivePlan, error) {
	if f.Provider == "" {
		return redrivePlan{}, errors.New("provider is missing: plan a redrive for each provider that overview names")
	}
	digest, err := c.digest(ctx, f.Provider)
	return redrivePlan{"redrive", f, until.UTC(), count, digest}, err
}

// replays returns the API's filter.
func (f filter) replays(until time.Time) operation.ReplayFilter {
	return operation.ReplayFilter{
		Provider: f.Provider, Source: f.Source, Type: f.Type, Class: event.Class(f.Class), Code: f.Code, Step: event.Step(f.Step),
		Rule: f.Rule, Subscription: f.Subscription, Until: until,
	}
}

func (c call) count(ctx context.Context, f filter, until time.Time) (planned operation.ReplayPlan, err error) {
	const first = 1000 // bodies that are parsed to look for other keys
	err = c.post(ctx, "/replays/plan", api.ReplayRequest{ReplayFilter: f.replays(until), First: first}, &planned)
	return planned, err
}

// checkUnused refuses a plan that was carried out. Plans of one second with the same filter count as one.
func (c call) checkUnused(ctx context.Context, f operation.ReplayFilter) error {
	const latest = "200"
	var started httpapi.List[operation.Replay]
	if err := c.get(ctx, "/replays", url.Values{"limit": {latest}}, &started); err != nil {
		return err
	}
	for _, one := range started.Items {
		if one.Filter.Until.Equal(f.Until) {
			one.Filter.Until = f.Until // also in the same time zone
		}
		if one.Filter == f {
			return fmt.Errorf("the plan was carried out, as operation %s: plan again, and show the person the new plan", one.ID)
		}
	}
	return nil
}

func planRedrive(ctx context.Context, c call, in filter) (any, error) {
	until := time.Now().UTC().Truncate(time.Second).Add(time.Second)
	planned, err := c.count(ctx, in, until)
	if err != nil {
		return nil, err
	}
	plan, err := c.redrivePlan(ctx, in, until, planned.Count)
	if err != nil {
		return nil, err
	}
	out := struct {
		Plan       string    `json:"plan"`
		ValidUntil time.Time `json:"valid_until"`
		Filter     filter    `json:"filter"`
		Until      time.Time `json:"until"`

		operation.ReplayPlan
	}{Filter: in, Until: until, ReplayPlan: planned}
	out.Plan, out.ValidUntil = c.newPlan(plan)
	return out, nil
}
