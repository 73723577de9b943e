// Command worker runs a workflow that Holdfast starts for each event of a subscription. It must stay an example: it depends only
// on Temporal's SDK.
package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// taskQueue is the one of `holdfast subscription create --task-queue`.
const taskQueue = "orders"

func main() {
	c, err := client.Dial(client.Options{HostPort: os.Getenv("TEMPORAL_ADDRESS"), Namespace: os.Getenv("TEMPORAL_NAMESPACE")})
	if err != nil {
		slog.Error("connect to Temporal", "error", err)
		os.Exit(1)
	}
	defer c.Close()
	w := worker.New(c, taskQueue, worker.Options{})
	w.RegisterWorkflow(OrderWorkflow)
	w.RegisterActivity(Fulfill)
	if err := w.Run(worker.InterruptCh()); err != nil {
		slog.Error("run worker", "error", err)
	}
}

// Envelope is the argument of the workflow. Its other fields: docs/deliveries-reference.md.
type Envelope struct {
	ID       string `json:"id"`
	Provider string `json:"provider"`
	Type     string `json:"type"`
	// Data is the body.
	Data json.RawMessage `json:"data"`
}

// OrderWorkflow handles one event. Holdfast starts it once, with the workflow ID of the subscription.
func OrderWorkflow(ctx workflow.Context, e Envelope) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	var done string
	err := workflow.ExecuteActivity(ctx, Fulfill, e).Get(ctx, &done)
	return done, err
}

// Fulfill does the work. It can run more than once, so make its effects idempotent, for example by the event's ID.
func Fulfill(e Envelope) (string, error) {
	return fmt.Sprintf("handled %s %s", e.Provider, e.Type), nil
}
