package yardstick

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdfast/activities"
	"holdfast/event"
	"holdfast/persistence"
	"holdfast/providers"
)

const naiveQueue = "bench-naive"

// naiveConns is enough for every activity that can run at the same time on a small machine.
const naiveConns = 40

// Store is where the naive design writes, with the product's own code and schema.
type Store struct {
	// URL of a migrated database.
	URL string
	// Definitions is the directory of the definitions.
	Definitions string
}

// do names the activities.
var do *activities.Activities

// Naive processes events as one would at first: three activities, one after the other, with the defaults of the SDK. Parsing
// and writing are the product's own.
func Naive(ctx context.Context, e Engine, s Store) (Result, error) {
	catalogue, err := providers.Load(s.Definitions)
	if err != nil {
		return Result{}, err
	}
	store, err := persistence.Open(ctx, persistence.Config{URL: s.URL, MaxConns: naiveConns})
	if err != nil {
		return Result{}, err
	}
	defer store.Close()
	done := newCompletions(e.Count)
	c, err := dial(ctx, e, done, nil)
	if err != nil {
		return Result{}, err
	}
	defer c.Close()
	w := worker.New(c, naiveQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(processNaively, workflow.RegisterOptions{Name: "Naive"})
	w.RegisterActivity(&activities.Activities{Catalogue: catalogue, Events: twoSteps{store}, Entities: store})
	if err := w.Start(); err != nil {
		return Result{}, err
	}
	defer w.Stop()
	run := strings.ToLower(rand.Text())
	return drive(ctx, e, done, func(ctx context.Context, i int) error {
		receipt, body := stripeEvent(run, i)
		_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: receipt.WorkflowID(), TaskQueue: naiveQueue},
			"Naive", receipt, body)
		return err
	})
}

// twoSteps is the store without the short cut that the product takes.
type twoSteps struct{ *persistence.Store }

func (twoSteps) Process(context.Context, event.Receipt, []byte, event.Parsed, event.Run) (event.Persisted, error) {
	return event.Persisted{}, errTwoSteps
}

var errTwoSteps = errors.New("the naive design takes two")

func processNaively(ctx workflow.Context, r event.Receipt, body converter.RawValue) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	var parsed event.Parsed
	if err := workflow.ExecuteActivity(ctx, do.ParseEvent, r, body).Get(ctx, &parsed); err != nil {
		return err
	}
	var persisted event.Persisted
	if err := workflow.ExecuteActivity(ctx, do.PersistEvent, r, body, parsed).Get(ctx, &persisted); err != nil {
		return err
	}
	return workflow.ExecuteActivity(ctx, do.UpsertEntities, r, parsed).Get(ctx, nil)
}
