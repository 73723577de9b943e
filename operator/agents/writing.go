package agents

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holdfast/event/operation"
	"holdfast/operator/api"
	"holdfast/operator/httpapi"
)

func (t *tools) addWriting(s *mcp.Server) {
	add(t, s, writes("replay", "Replay one dead letter", "Runs the event of one dead letter again, with the plan that plan_replay "+
		"returned. Show that plan to a person first."), replay)
	add(t, s, writes("redrive", "Replay many dead letters", "Runs all dead letters of a plan again, at a rate, with the plan, "+
		"filter, until and count of plan_redrive. Show them to a person first."), redrive)
}

type replayArguments struct {
	letterArguments

	Plan   string `json:"plan" jsonschema:"plan that plan_replay returned for this dead letter"`
	Reason string `json:"reason" jsonschema:"why, for the audit log"`
}

func replay(ctx context.Context, c call, in replayArguments) (any, error) {
	reason, err := c.reason(in.Reason)
	if err != nil {
		return nil, err
	}
	_, plan, err := c.replayPlan(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := c.check(in.Plan, plan); err != nil {
		return nil, err
	}
	var started operation.Replayed
	if err := c.post(ctx, path("dead-letters", in.ID, "replay"), api.SingleReplay{Reasoned: reason}, &started); err != nil {
		return nil, err
	}
	return struct {
		EventID string `json:"event"`
		RunID   string `json:"run_id"`
		Next    string `json:"next"`
	}{started.EventID, started.Run.RunID, "ask for the event until its status is processed or dead"}, nil
}

type redriveArguments struct {
	filter

	Plan   string    `json:"plan" jsonschema:"plan that plan_redrive returned for this filter"`
	Until  time.Time `json:"until" jsonschema:"until, as plan_redrive returned it"`
	Count  int64     `json:"count" jsonschema:"count, as plan_redrive returned it"`
	Rate   float64   `json:"rate,omitempty" jsonschema:"runs started per second, 0.01 to 1000; 50 if absent"`
	Reason string    `json:"reason" jsonschema:"why, for the audit log"`
}

func redrive(ctx context.Context, c call, in redriveArguments) (any, error) {
	reason, err := c.reason(in.Reason)
	if err != nil {
		return nil, err
	}
	plan, err := c.redrivePlan(ctx, in.filter, in.Until, in.Count)
	if err != nil {
		return nil, err
	}
	if err := c.check(in.Plan, plan); err != nil {
		return nil, err
	}
	selected := in.replays(in.Until)
	if err := c.checkUnused(ctx, selected); err != nil {
		return nil, err
	}
	now, err := c.count(ctx, in.filter, in.Until)
	if err != nil {
		return nil, err
	}
	if now.Count != in.Count {
		return nil, fmt.Errorf("the plan named %d dead letters, and now %d match: plan again, and show the person the new plan",
			in.Count, now.Count)
	}
	var started operation.Replay
	body := api.ReplayRequest{ReplayFilter: selected, Reasoned: reason, Rate: in.Rate}
	if err := c.post(ctx, "/replays", body, &started); err != nil {
		return nil, err
	}
	out := struct {
		Operation string  `json:"operation"`
		Total     int64   `json:"total"`
		Note      string  `json:"note,omitempty"`
		Rate      float64 `json:"rate"`
		Next      string  `json:"next"`
	}{started.ID, started.Total, "", started.Rate, "ask for the operation until its state is completed"}
	if started.Total != in.Count { // between the count and the start
		out.Note = fmt.Sprintf("the plan named %d dead letters, and the redrive runs %d: tell the person", in.Count, started.Total)
	}
	return out, nil
}

// reason is what the audit log has: the agent's client and why.
func (c call) reason(why string) (httpapi.Reasoned, error) {
	if why = strings.TrimSpace(why); why == "" {
		return httpapi.Reasoned{}, errors.New("reason is missing: say in one sentence why, for the audit log")
	}
	return httpapi.Reasoned{Reason: "agent " + c.agent + ": " + why}, nil
}
