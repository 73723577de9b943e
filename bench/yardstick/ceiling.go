package yardstick

import (
	"context"
	"crypto/rand"
	"strconv"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const ceilingQueue = "bench-ceiling"

// Ceiling runs empty workflows: one workflow for each event cannot be had for less.
func Ceiling(ctx context.Context, e Engine) (Result, error) {
	done := newCompletions(e.Count)
	c, err := dial(ctx, e, done, &client.GrpcCompressionNone{})
	if err != nil {
		return Result{}, err
	}
	defer c.Close()
	w := worker.New(c, ceilingQueue, worker.Options{DisableRegistrationAliasing: true})
	w.RegisterWorkflowWithOptions(func(workflow.Context) error { return nil }, workflow.RegisterOptions{Name: "Empty"})
	if err := w.Start(); err != nil {
		return Result{}, err
	}
	defer w.Stop()
	run := "bench-ceiling-" + rand.Text()
	return drive(ctx, e, done, func(ctx context.Context, i int) error {
		_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: run + strconv.Itoa(i), TaskQueue: ceilingQueue, EnableEagerStart: true,
		}, "Empty")
		return err
	})
}
