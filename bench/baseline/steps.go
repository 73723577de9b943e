package baseline

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdfast/event"
)

const stepsQueue = "bench-steps"

// What the bare steps write: an event's bytes, and the last event of an entity.
const (
	makeStepTables = `
CREATE TABLE IF NOT EXISTS step_events (workflow_id text PRIMARY KEY, body bytea NOT NULL);
CREATE TABLE IF NOT EXISTS step_entities (id text PRIMARY KEY, workflow_id text NOT NULL)`

	insertStepEvent  = `INSERT INTO step_events (workflow_id, body) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	upsertStepEntity = `INSERT INTO step_entities (id, workflow_id) VALUES ($1, $2)
    ON CONFLICT (id) DO UPDATE SET workflow_id = excluded.workflow_id`
)

// Steps runs workflows of three local activities with eager start, in the requested slices: one reads the event, two write one
// row each. It has no HTTP, signature, definition, order of events, log, metric or trace: any system that takes these three
// steps in a workflow for each event costs at least that much.
func Steps(ctx context.Context, e Engine, database string, in io.Reader, out io.Writer) error {
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, makeStepTables); err != nil {
		return err
	}
	done := newCompletions()
	c, err := dial(ctx, e, done, &client.GrpcCompressionNone{})
	if err != nil {
		return err
	}
	defer c.Close()
	w := worker.New(c, stepsQueue, worker.Options{DisableRegistrationAliasing: true})
	steps := &bareSteps{pool}
	w.RegisterWorkflowWithOptions(steps.process, workflow.RegisterOptions{Name: "Steps"})
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	run := strings.ToLower(rand.Text())
	return serveSlices(ctx, e, done, in, out, func(ctx context.Context, i int64) error {
		receipt, body := stripeEvent(run, i)
		_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: receipt.WorkflowID(), TaskQueue: stepsQueue, EnableEagerStart: true,
		}, "Steps", receipt, body)
		return err
	})
}

type bareSteps struct{ pool *pgxpool.Pool }

func (s *bareSteps) process(ctx workflow.Context, r event.Receipt, body converter.RawValue) error {
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute})
	id := r.WorkflowID()
	var entity string
	if err := workflow.ExecuteLocalActivity(ctx, s.parse, body).Get(ctx, &entity); err != nil {
		return err
	}
	if err := workflow.ExecuteLocalActivity(ctx, s.persist, id, body).Get(ctx, nil); err != nil {
		return err
	}
	return workflow.ExecuteLocalActivity(ctx, s.upsert, id, entity).Get(ctx, nil)
}

// parse returns the entity that the event is about.
func (s *bareSteps) parse(_ context.Context, body converter.RawValue) (string, error) {
	var sent struct {
		Data struct {
			Object struct {
				ID string `json:"id"`
			} `json:"object"`
		} `json:"data"`
	}
	err := json.Unmarshal(body.Payload().GetData(), &sent)
	return sent.Data.Object.ID, err
}

func (s *bareSteps) persist(ctx context.Context, id string, body converter.RawValue) error {
	_, err := s.pool.Exec(ctx, insertStepEvent, id, body.Payload().GetData())
	return err
}

func (s *bareSteps) upsert(ctx context.Context, id, entity string) error {
	_, err := s.pool.Exec(ctx, upsertStepEntity, entity, id)
	return err
}
