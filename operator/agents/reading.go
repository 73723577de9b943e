package agents

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/internal/lint"
	"holdfast/operator/api"
	"holdfast/operator/api/definitionapi"
	"holdfast/operator/httpapi"
	"holdfast/providers/mapping"
)

func (t *tools) addReading(s *mcp.Server) {
	add(t, s, reads("overview", "What is wrong", "What needs a person now: dead letters grouped by cause, each with an example, "+
		"failing destinations, and what waits. Begin here."), overview)
	add(t, s, reads("dead_letters", "List dead letters", "Dead letters that match a filter, last failed first, without their "+
		"bodies."), deadLetters)
	add(t, s, reads("dead_letter", "Show a dead letter", "One dead letter: why it failed, its body as far as your role may see "+
		"it, and, for operators, the definition that read it."), deadLetter)
	add(t, s, reads("try_definition", "Explain a dead letter", "What the definition in use, or a changed text of it, makes of the "+
		"event of a dead letter. Changes nothing. in_use tells whether Holdfast has loaded that text. Needs the role operator."),
		tryDefinition)
	add(t, s, reads("event", "Show an event", "Where an event is: its status, the entities that it changed, its deliveries and "+
		"dead letters. Use it to see that a replay worked."), showEvent)
	add(t, s, reads("operation", "Show a redrive", "The progress of a redrive, by its ID."), showOperation)
}

type nothing struct{}

// causesShown bounds the causes in an overview.
const causesShown = 20

func overview(ctx context.Context, c call, _ nothing) (any, error) {
	var causes httpapi.List[operation.Cause]
	if err := c.get(ctx, "/dead-letters/causes", nil, &causes); err != nil {
		return nil, err
	}
	var stats oversight.Stats
	if err := c.get(ctx, "/stats", nil, &stats); err != nil {
		return nil, err
	}
	type cause struct {
		Provider     string      `json:"provider"`
		Step         event.Step  `json:"step"`
		Class        event.Class `json:"class"`
		Code         string      `json:"code"`
		Rule         string      `json:"rule,omitempty"`
		Subscription string      `json:"subscription,omitempty"`
		Waiting      int64       `json:"waiting"`
		Replaying    int64       `json:"replaying"`
		Oldest       time.Time   `json:"oldest"`
		Newest       time.Time   `json:"newest"`
		Example      string      `json:"example_dead_letter"`
	}
	out := struct {
		At      time.Time `json:"at"`
		Causes  []cause   `json:"causes"`
		More    int       `json:"more_causes,omitempty"`
		Failing []string  `json:"failing_destinations,omitempty"`
		// Inbox counts events that were accepted and aren't in Temporal yet, Deliveries those that aren't finished.
		Inbox      []oversight.InboxCount    `json:"inbox,omitempty"`
		Deliveries []oversight.DeliveryCount `json:"open_deliveries,omitempty"`
	}{At: stats.At, Causes: []cause{}, Failing: stats.FailingDestinations, Inbox: stats.Inbox, Deliveries: stats.Deliveries}
	for i, k := range causes.Items {
		if i == causesShown {
			out.More = len(causes.Items) - causesShown
			break
		}
		out.Causes = append(out.Causes, cause{
			k.Provider, k.Step, k.Class, k.Code, k.Rule, k.Subscription, k.Waiting(), k.Replaying, k.Oldest, k.Newest,
			strconv.FormatInt(k.Example, 10),
		})
	}
	return out, nil
}

// filter selects dead letters, as the arguments of a tool.
type filter struct {
	Provider     string `json:"provider,omitempty" jsonschema:"name of the provider"`
	Source       string `json:"source,omitempty" jsonschema:"sender within the provider; needs provider"`
	Type         string `json:"type,omitempty" jsonschema:"type of the event"`
	Class        string `json:"class,omitempty" jsonschema:"class of the error, as overview has it"`
	Code         string `json:"code,omitempty" jsonschema:"code of the error, as overview has it"`
	Step         string `json:"step,omitempty" jsonschema:"step that failed, as overview has it"`
	Rule         string `json:"rule,omitempty" jsonschema:"field of the definition that failed, as overview has it"`
	Subscription string `json:"subscription,omitempty" jsonschema:"subscription of failed deliveries"`
}

func (f filter) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{
		"provider": f.Provider, "source": f.Source, "type": f.Type, "class": f.Class, "code": f.Code, "step": f.Step, "rule": f.Rule,
		"subscription": f.Subscription,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// letter is a dead letter in a result.
type letter struct {
	ID           string                `json:"dead_letter"`
	EventID      string                `json:"event"`
	Provider     string                `json:"provider"`
	State        event.DeadLetterState `json:"state"`
	Step         event.Step            `json:"step"`
	Class        event.Class           `json:"class"`
	Code         string                `json:"code"`
	Rule         string                `json:"rule,omitempty"`
	Subscription string                `json:"subscription,omitempty"`
	Failures     int                   `json:"failures"`
	FirstFailed  time.Time             `json:"first_failed_at"`
	LastFailed   time.Time             `json:"last_failed_at"`
	NextReplayAt *time.Time            `json:"next_replay_at,omitempty"`
	FromSender   fromSender            `json:"from_sender"`
}

func letterOf(d api.DeadLetterView) letter {
	from := sender(d.Type, d.Key, d.Source)
	from.Error = d.Failure.Message
	return letter{
		strconv.FormatInt(d.ID, 10), d.EventID, d.Provider, d.State, d.Failure.Step, d.Failure.Class, d.Failure.Code, d.Rule,
		d.Subscription, d.Failures, d.FirstFailed, d.LastFailed, d.NextReplayAt, from,
	}
}

type listArguments struct {
	filter

	State string `json:"state,omitempty" jsonschema:"open, exhausted, replaying, resolved or discarded; all if absent"`
	Limit int    `json:"limit,omitempty" jsonschema:"1 to 50; 10 if absent"`
}

func deadLetters(ctx context.Context, c call, in listArguments) (any, error) {
	const usual, most = 10, 50
	if in.Limit == 0 {
		in.Limit = usual
	}
	if in.Limit < 1 || in.Limit > most {
		return nil, errors.New("limit is 1 to 50")
	}
	q := in.query()
	q.Set("limit", strconv.Itoa(in.Limit))
	if in.State != "" {
		q.Set("state", in.State)
	}
	var page httpapi.List[api.DeadLetterView]
	if err := c.get(ctx, "/dead-letters", q, &page); err != nil {
		return nil, err
	}
	out := struct {
		DeadLetters []letter `json:"dead_letters"`
		More        bool     `json:"more,omitempty"`
	}{[]letter{}, page.Next != ""}
	for _, d := range page.Items {
		out.DeadLetters = append(out.DeadLetters, letterOf(d))
	}
	return out, nil
}

type letterArguments struct {
	ID string `json:"dead_letter" jsonschema:"number of the dead letter"`
}

// shownLetter is a dead letter with its definition.
type shownLetter struct {
	letter

	// Definition is absent if the caller may not see it, with the reason in DefinitionError.
	Definition      *definitionapi.Definition `json:"definition,omitempty"`
	DefinitionError string                    `json:"definition_error,omitempty"`
}

func deadLetter(ctx context.Context, c call, in letterArguments) (any, error) {
	d, err := c.deadLetter(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := shownLetter{letter: letterOf(d.DeadLetterView)}
	out.FromSender = out.FromSender.withBody(d.Body)
	var definition definitionapi.Definition
	if err := c.get(ctx, path("definitions", d.Provider), nil, &definition); err != nil {
		out.DefinitionError = err.Error()
	} else {
		out.Definition = &definition
	}
	return out, nil
}

func (c call) deadLetter(ctx context.Context, id string) (d api.DeadLetterDetail, err error) {
	if _, err := strconv.ParseUint(id, 10, 63); err != nil {
		return d, errors.New("dead_letter is the number of one")
	}
	err = c.get(ctx, path("dead-letters", id), nil, &d)
	return d, err
}

type tryArguments struct {
	letterArguments

	Text string `json:"definition,omitempty" jsonschema:"the whole changed YAML; the definition in use if absent"`
}

// tried is what a definition makes of an event.
type tried struct {
	// Succeeds reports whether the parse step would accept the event, InUse whether Holdfast uses this definition.
	Succeeds  bool                   `json:"parse_succeeds"`
	InUse     bool                   `json:"in_use"`
	Digest    string                 `json:"digest,omitempty"`
	Rejected  []string               `json:"rejected,omitempty"`
	Problems  []lint.Finding         `json:"problems,omitempty"`
	Unchecked bool                   `json:"unchecked,omitempty"`
	Failure   *lint.ExplainedFailure `json:"failure,omitempty"`
	// Rules are the rules for entities with what each found.
	Rules      []mapping.ExplainedRule `json:"rules,omitempty"`
	Unmapped   bool                    `json:"changes_nothing,omitempty"`
	FromSender *fromSender             `json:"from_sender,omitempty"`
}

func tryDefinition(ctx context.Context, c call, in tryArguments) (any, error) {
	d, err := c.deadLetter(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return c.try(ctx, d, in.Text)
}

func (c call) try(ctx context.Context, d api.DeadLetterDetail, text string) (out tried, err error) {
	var answer definitionapi.TriedDefinition
	body := definitionapi.DefinitionTrial{EventID: d.EventID, Text: text}
	if err := c.post(ctx, path("definitions", d.Provider, "try"), body, &answer); err != nil {
		return out, err
	}
	out = tried{
		InUse: answer.InUse, Digest: answer.Digest, Rejected: answer.Rejected, Problems: answer.Problems, Unchecked: answer.Unchecked,
	}
	if e := answer.Event; e != nil {
		from := sender(e.Type, e.Key, e.Source).withChanges(e.Changes)
		if e.DeadLetter != nil {
			out.Failure, from.Error = &lint.ExplainedFailure{Class: e.DeadLetter.Class, Code: e.DeadLetter.Code}, e.DeadLetter.Message
		}
		out.Succeeds, out.Rules, out.Unmapped, out.FromSender = e.DeadLetter == nil, e.Entities, e.Unmapped, &from
	}
	return out, nil
}

type eventArguments struct {
	ID string `json:"event" jsonschema:"ID of the event"`
}

func showEvent(ctx context.Context, c call, in eventArguments) (any, error) {
	var d api.EventDetail
	if err := c.get(ctx, path("events", in.ID), nil, &d); err != nil {
		return nil, err
	}
	type entity struct {
		Kind string   `json:"kind"`
		Op   event.Op `json:"op"`
		ID   string   `json:"external_id"`
	}
	type delivery struct {
		Subscription string `json:"subscription"`
		Status       string `json:"status"`
	}
	out := struct {
		ID          string        `json:"event"`
		Provider    string        `json:"provider"`
		Status      event.Status  `json:"status"`
		Outcome     event.Outcome `json:"outcome,omitempty"`
		ProcessedAt *time.Time    `json:"processed_at,omitempty"`
		Deliveries  []delivery    `json:"deliveries,omitempty"`
		DeadLetters []letter      `json:"dead_letters,omitempty"`
		FromSender  struct {
			fromSender

			Entities []entity `json:"entities,omitempty"`
			// WorkflowURL contains the key.
			WorkflowURL string `json:"temporal_web,omitempty"`
		} `json:"from_sender"`
	}{ID: d.ID, Provider: d.Provider, Status: d.Status, Outcome: d.Outcome, ProcessedAt: d.ProcessedAt}
	out.FromSender.fromSender, out.FromSender.WorkflowURL = sender(d.Type, d.Key, d.Source), d.TemporalWeb
	const shown = 50
	out.FromSender.EntitiesLeftOut = max(len(d.Entities)-shown, 0)
	for _, e := range d.Entities[:min(len(d.Entities), shown)] {
		out.FromSender.Entities = append(out.FromSender.Entities, entity{e.Kind, e.Op, e.ExternalID})
	}
	for _, one := range d.Deliveries {
		out.Deliveries = append(out.Deliveries, delivery{one.Subscription, string(one.Status)})
	}
	for _, one := range d.DeadLetters {
		out.DeadLetters = append(out.DeadLetters, letterOf(one))
	}
	return out, nil
}

type operationArguments struct {
	ID string `json:"operation" jsonschema:"ID that redrive returned"`
}

func showOperation(ctx context.Context, c call, in operationArguments) (any, error) {
	var r operation.Replay
	if err := c.get(ctx, path("replays", in.ID), nil, &r); err != nil {
		return nil, err
	}
	from := sender(r.Filter.Type, "", r.Filter.Source)
	r.Filter.Type, r.Filter.Source = "", ""
	return struct {
		operation.Replay

		FromSender fromSender `json:"from_sender"`
	}{r, from}, nil
}
