package yardstick

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
)

// Engine says which Temporal to use, and how much.
type Engine struct {
	Address, Namespace string
	// Count of workflows, Starters that start them at the same time.
	Count, Starters int
	// Rate of starts per second, each in its moment, whatever becomes of those before it; 0: as many as the starters can.
	Rate float64
}

// Result is what a yardstick prints.
type Result struct {
	PerSecond float64       `json:"per_second"`
	Took      time.Duration `json:"took_ns"`
	// CPU is what this process has used meanwhile.
	CPU time.Duration `json:"cpu_ns"`
	// P50 and P99 of the time from the moment when a start was due until Temporal had confirmed it. Without a rate there is none.
	P50 time.Duration `json:"p50_ns,omitempty"`
	P99 time.Duration `json:"p99_ns,omitempty"`
}

// used is the CPU time of this process so far.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// completions counts the workflows whose end Temporal has confirmed. It sees every call of the client, which costs nothing,
// where asking Temporal for each would cost a call.
type completions struct {
	n    atomic.Int64
	want int64
	all  chan struct{}
}

func newCompletions(want int) *completions {
	return &completions{want: int64(want), all: make(chan struct{})}
}

func (c *completions) intercept(
	ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	err := invoke(ctx, method, request, reply, cc, opts...)
	if answer, ok := request.(*workflowservice.RespondWorkflowTaskCompletedRequest); ok && err == nil && completes(answer) {
		if c.n.Add(1) == c.want {
			close(c.all)
		}
	}
	return err
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

// drive starts all workflows, as the load generator does in its closed loop or its open one, and waits for the end of the last.
func drive(ctx context.Context, e Engine, done *completions, start func(ctx context.Context, i int) error) (r Result, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begun, before := time.Now(), used()
	begin := func(i int) {
		if err := start(ctx, i); err != nil {
			cancel(fmt.Errorf("start workflow %d: %w", i, err))
		}
	}
	if e.Rate > 0 {
		r.P50, r.P99 = pace(ctx, e, begin)
	} else {
		race(ctx, e, begin)
	}
	select {
	case <-done.all:
	case <-ctx.Done():
		return Result{}, context.Cause(ctx)
	}
	r.Took = time.Since(begun)
	r.PerSecond, r.CPU = float64(e.Count)/r.Took.Seconds(), used()-before
	return r, nil
}

// race has every starter start the next one as soon as its last one is confirmed.
func race(ctx context.Context, e Engine, begin func(i int)) {
	var (
		next     atomic.Int64
		starters sync.WaitGroup
	)
	for range e.Starters {
		starters.Go(func() {
			for i := int(next.Add(1)) - 1; i < e.Count && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				begin(i)
			}
		})
	}
	starters.Wait()
}

// pace starts each one when it is due, and tells how long that took.
func pace(ctx context.Context, e Engine, begin func(i int)) (p50, p99 time.Duration) {
	var (
		took  = make([]time.Duration, e.Count)
		all   sync.WaitGroup
		begun = time.Now()
	)
	for i := range e.Count {
		due := begun.Add(time.Duration(float64(i) / e.Rate * float64(time.Second)))
		time.Sleep(time.Until(due)) //nolint:forbidigo // the moments are what is asked for
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			begin(i)
			took[i] = time.Since(due)
		})
	}
	all.Wait()
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100]
}

// quiet drops the log of the SDK.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
