package activities

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
)

// Interceptor wraps every activity: it converts panics and errors to error classes, records metrics and error log entries, and
// sends heartbeats.
type Interceptor struct {
	interceptor.WorkerInterceptorBase

	errors ErrorSink
}

// NewInterceptor returns an interceptor. A nil sink disables the error log.
func NewInterceptor(errors ErrorSink) *Interceptor { return &Interceptor{errors: errors} }

// InterceptActivity implements interceptor.WorkerInterceptor.
func (i *Interceptor) InterceptActivity(
	_ context.Context, next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	inbound := &inboundInterceptor{errors: i.errors}
	inbound.Next = next
	return inbound
}

type inboundInterceptor struct {
	interceptor.ActivityInboundInterceptorBase

	errors ErrorSink
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
		reportStep(ctx, time.Since(start), err)
		if err != nil && i.errors != nil {
			i.errors.Record(errorEntry(ctx, in.Args, err))
		}
		err = failure(err)
	}()
	return i.Next.ExecuteActivity(ctx, in)
}
