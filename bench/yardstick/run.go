package yardstick

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
)

// Engine says which Temporal to use.
type Engine struct {
	Address, Namespace string
	// Starters start workflows at the same time.
	Starters int
}

// Slice is what is asked of a yardstick, as a line of JSON.
type Slice struct {
	// Length is for how long workflows are started.
	Length time.Duration `json:"length_ns"`
	// Rate of starts a second, each in its moment, whatever becomes of those before it; 0: as many as the starters can.
	Rate float64 `json:"rate"`
}

// Result is what it answers, as a line of JSON.
type Result struct {
	// Count of workflows, and how many were done in a second, from the first start to the last end.
	Count     int64   `json:"count"`
	PerSecond float64 `json:"per_second"`
	// P50 and P99 of the time from the moment when a start was due, or made, until Temporal had confirmed it.
	P50 time.Duration `json:"p50_ns"`
	P99 time.Duration `json:"p99_ns"`
}

// completions counts the workflows whose end Temporal has confirmed. It sees every call of the client, which costs nothing,
// where asking Temporal for each would cost a call.
type completions struct {
	n    atomic.Int64
	more chan struct{} // something has ended since the last look
}

func newCompletions() *completions { return &completions{more: make(chan struct{}, 1)} }

func (c *completions) intercept(
	ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	err := invoke(ctx, method, request, reply, cc, opts...)
	if answer, ok := request.(*workflowservice.RespondWorkflowTaskCompletedRequest); ok && err == nil && completes(answer) {
		c.n.Add(1)
		select {
		case c.more <- struct{}{}:
		default:
		}
	}
	return err
}

// await returns when so many have ended since the beginning.
func (c *completions) await(ctx context.Context, n int64) error {
	for c.n.Load() < n {
		select {
		case <-c.more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func completes(r *workflowservice.RespondWorkflowTaskCompletedRequest) bool {
	for _, command := range r.GetCommands() {
		if command.GetCommandType() == enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION {
			return true
		}
	}
	return false
}

// dial connects as the SDK does of itself, but for the compression of calls; nil is the SDK's own, which costs both sides CPU.
func dial(
	ctx context.Context, e Engine, done *completions, compression client.GrpcCompression,
) (client.Client, error) {
	c, err := client.DialContext(ctx, client.Options{
		HostPort: e.Address, Namespace: e.Namespace, Logger: quiet{},
		ConnectionOptions: client.ConnectionOptions{
			GrpcCompression: compression,
			DialOptions:     []grpc.DialOption{grpc.WithChainUnaryInterceptor(done.intercept)},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("reach Temporal: %w", err)
	}
	return c, nil
}

// start starts the workflow of a number, and returns when Temporal has confirmed that.
type start func(ctx context.Context, i int64) error

// serveSlices takes what it is asked for until nobody asks any more.
func serveSlices(ctx context.Context, e Engine, done *completions, in io.Reader, out io.Writer, begin start) error {
	asked, answers := json.NewDecoder(in), json.NewEncoder(out)
	for next := int64(0); ; {
		var s Slice
		if err := asked.Decode(&s); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read what is asked: %w", err)
		}
		begun := time.Now()
		took, err := run(ctx, e, s, next, begin)
		if err != nil {
			return err
		}
		count := int64(len(took))
		next += count
		if err := done.await(ctx, next); err != nil {
			return err
		}
		slices.Sort(took)
		r := Result{Count: count, PerSecond: float64(count) / time.Since(begun).Seconds(), P50: took[count/2], P99: took[count*99/100]}
		if err := answers.Encode(r); err != nil {
			return err
		}
	}
}

// run starts workflows for the length of the slice, as the load generator does in its closed loop or its open one, at least
// one, and gives how long each start took.
func run(ctx context.Context, e Engine, s Slice, next int64, begin start) (took []time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		mu    sync.Mutex
		begun = time.Now()
	)
	one := func(i int64, due time.Time) {
		if err := begin(ctx, next+i); err != nil {
			cancel(fmt.Errorf("start workflow %d: %w", next+i, err))
		}
		mu.Lock()
		defer mu.Unlock()
		took = append(took, time.Since(due))
	}
	if s.Rate > 0 {
		pace(ctx, s, begun, one)
	} else {
		race(ctx, e, begun.Add(s.Length), one)
	}
	return took, context.Cause(ctx)
}

// race has every starter start the next one as soon as its last one is confirmed.
func race(ctx context.Context, e Engine, end time.Time, one func(i int64, due time.Time)) {
	var (
		next     atomic.Int64
		starters sync.WaitGroup
	)
	for range e.Starters {
		starters.Go(func() {
			for now := time.Now(); now.Before(end) && ctx.Err() == nil; now = time.Now() {
				one(next.Add(1)-1, now)
			}
		})
	}
	starters.Wait()
}

// pace starts each one when it is due.
func pace(ctx context.Context, s Slice, begun time.Time, one func(i int64, due time.Time)) {
	var all sync.WaitGroup
	for i := range max(int64(s.Rate*s.Length.Seconds()), 1) {
		due := begun.Add(time.Duration(float64(i) / s.Rate * float64(time.Second)))
		time.Sleep(time.Until(due)) //nolint:forbidigo // the moments are what is asked for
		if ctx.Err() != nil {
			break
		}
		all.Go(func() { one(i, due) })
	}
	all.Wait()
}

// quiet drops the log of the SDK.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
