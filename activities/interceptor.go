package activities

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
)

// Interceptor stands around every activity of a worker: it turns panics and errors into error classes, counts the execution
// by step, lane and outcome, tells the error log, and tells Temporal that the activity lives. All failures of steps pass
// here, and nowhere else.
type Interceptor struct {
	interceptor.WorkerInterceptorBase

	metrics stepMetrics
	errors  ErrorSink
}

// NewInterceptor makes the worker interceptor. Without a sink there is no error log.
func NewInterceptor(errors ErrorSink) (*Interceptor, error) {
	metrics, err := newStepMetrics()
	return &Interceptor{metrics: metrics, errors: errors}, err
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (i *Interceptor) InterceptActivity(
	_ context.Context, next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	inbound := &inboundInterceptor{metrics: i.metrics, errors: i.errors}
	inbound.Next = next
	return inbound
}

type inboundInterceptor struct {
	interceptor.ActivityInboundInterceptorBase

	metrics stepMetrics
	errors  ErrorSink
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (i *inboundInterceptor) ExecuteActivity(
	ctx context.Context, in *interceptor.ExecuteActivityInput,
) (result any, err error) {
	start := time.Now()
	stop := keepAlive(ctx)
	defer stop()
	defer func() {
		if value := recover(); value != nil {
			slog.ErrorContext(ctx, "step.panicked", "step", activity.GetInfo(ctx).ActivityType.Name,
				"stack", string(debug.Stack()))
			err = panicError(value)
		}
		i.metrics.record(ctx, time.Since(start), err)
		if err != nil && i.errors != nil {
			i.errors.Record(errorEntry(ctx, in.Args, err))
		}
		err = failure(err)
	}()
	return i.Next.ExecuteActivity(ctx, in)
}
