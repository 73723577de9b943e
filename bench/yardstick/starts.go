package yardstick

import (
	"context"
	"crypto/rand"
	"io"
	"strconv"

	"go.temporal.io/sdk/client"
)

// Starts starts workflows that nobody works on, in the slices that it is asked for: handing an event over to somebody's own
// workflow cannot be had for less. A workflow counts once Temporal has confirmed its start.
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

// OwnQueue and OwnType are those of the workflows that stand for somebody's own.
const (
	OwnQueue = "bench-own"
	OwnType  = "Own"
)
