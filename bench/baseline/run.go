package baseline

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

// Engine configures the Temporal to use.
type Engine struct {
	Address, Namespace string
	// Starters is the number of concurrent starters.
	Starters int
}

// Slice is a request to a baseline, as a line of JSON.
type Slice struct {
	// Length is how long workflows are started.
	Length time.Duration `json:"length_ns"`
	// Rate is in starts per second, each at its due time, whatever happens to earlier ones; 0 means as fast as the starters can.
	Rate float64 `json:"rate"`
}

// Result is the answer, as a line of JSON.
type Result struct {
	// Count is the number of workflows, with their rate from the first start to the last end.
	Count     int64   `json:"count"`
	PerSecond float64 `json:"per_second"`
	// P50 and P99 are of the time from when a start was due, or made, until Temporal had confirmed it.
	P50 time.Duration `json:"p50_ns"`
	P99 time.Duration `json:"p99_ns"`
}

// completions counts the workflows whose end Temporal has confirmed. It intercepts the client's calls, which is free, whereas
// reading each workflow from Temporal would cost a call.
type completions struct {
	n    atomic.Int64
	more chan struct{} // signals new ends
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

// await waits until this many have ended since the beginning.
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

// dial connects like the SDK, except for the compression of calls; nil is the SDK's own, which costs both sides CPU.
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

// start starts workflow i, and returns when Temporal has confirmed it.
type start func(ctx context.Context, i int64) error

// serveSlices serves requests until the end of the input.
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

// run starts workflows for the length of the slice, in a closed or an open loop like the load generator, but at least one, and
// returns how long each start took.
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

// race has every starter start the next workflow as soon as its last one is confirmed.
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

// pace starts each workflow when it is due.
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

// quiet drops the SDK's log.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
