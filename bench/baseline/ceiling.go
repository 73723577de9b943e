package baseline

import (
	"context"
	"crypto/rand"
	"io"
	"strconv"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const ceilingQueue = "bench-ceiling"

// Ceiling runs empty workflows, in the requested slices: the minimal cost of one workflow for each event.
func Ceiling(ctx context.Context, e Engine, in io.Reader, out io.Writer) error {
	done := newCompletions()
	c, err := dial(ctx, e, done, &client.GrpcCompressionNone{})
	if err != nil {
		return err
	}
	defer c.Close()
	w := worker.New(c, ceilingQueue, worker.Options{DisableRegistrationAliasing: true})
	w.RegisterWorkflowWithOptions(func(workflow.Context) error { return nil }, workflow.RegisterOptions{Name: "Empty"})
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	run := "bench-ceiling-" + rand.Text()
	return serveSlices(ctx, e, done, in, out, func(ctx context.Context, i int64) error {
		_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: run + strconv.FormatInt(i, 10), TaskQueue: ceilingQueue, EnableEagerStart: true,
		}, "Empty")
		return err
	})
}

// Starts starts workflows without a worker, in the requested slices: the minimal cost of handing an event to a user's own
// workflow. A workflow counts once Temporal has confirmed its start.
func Starts(ctx context.Context, e Engine, in io.Reader, out io.Writer) error {
	done := newCompletions()
	c, err := dial(ctx, e, done, &client.GrpcCompressionNone{})
	if err != nil {
		return err
	}
	defer c.Close()
	run := "bench-start-" + rand.Text()
	return serveSlices(ctx, e, done, in, out, func(ctx context.Context, i int64) error {
		_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: run + strconv.FormatInt(i, 10), TaskQueue: OwnQueue,
		}, OwnType, map[string]any{"event_id": strconv.FormatInt(i, 10)})
		if err == nil {
			done.n.Add(1)
		}
		return err
	})
}

// OwnQueue and OwnType name the workflows that play the part of a user's workflows.
const (
	OwnQueue = "bench-own"
	OwnType  = "Own"
)
