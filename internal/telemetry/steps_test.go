package telemetry

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	temporalotel "go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// step and durable return the trace that they belong to.
func step(ctx context.Context) (string, error)    { return tracedAs(ctx), nil }
func durable(ctx context.Context) (string, error) { return tracedAs(ctx), nil }

func tracedAs(ctx context.Context) string {
	span := trace.SpanContextFromContext(ctx)
	return span.TraceID().String() + " " + span.SpanID().String() + " " + span.TraceFlags().String()
}

// A local activity has no span and continues the span of its workflow; an activity has its own spans.
func TestLocalActivitiesContinueTheSpanOfTheirWorkflow(t *testing.T) {
	t.Parallel()
	for _, sampler := range []sdktrace.Sampler{sdktrace.AlwaysSample(), sdktrace.NeverSample()} {
		spans := tracetest.NewInMemoryExporter()
		tel := &Telemetry{Traces: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans), sdktrace.WithSampler(sampler))}
		tracing, err := tel.TemporalInterceptor()
		require.NoError(t, err)
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestWorkflowEnvironment()
		env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{tracing.(interceptor.WorkerInterceptor)}})
		env.RegisterActivity(durable)

		var own, local, other string
		env.ExecuteWorkflow(func(ctx workflow.Context) error {
			span, _ := temporalotel.SpanFromWorkflowContext(ctx)
			own = tracedAs(trace.ContextWithSpan(context.Background(), span))
			ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{ScheduleToCloseTimeout: time.Minute})
			ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{ScheduleToCloseTimeout: time.Minute})
			if err := workflow.ExecuteLocalActivity(ctx, step).Get(ctx, &local); err != nil {
				return err
			}
			return workflow.ExecuteActivity(ctx, durable).Get(ctx, &other)
		})
		require.NoError(t, env.GetWorkflowError())

		require.NotContains(t, own, "00000000000000000000000000000000")
		require.Equal(t, own, local)
		require.Equal(t, own[:32], other[:32])
		require.NotEqual(t, own, other)
		var names []string
		for _, s := range spans.GetSpans() {
			names = append(names, s.Name)
		}
		if sampler == sdktrace.NeverSample() {
			require.Empty(t, names)
			continue
		}
		require.Equal(t, []string{"StartActivity:durable", "RunActivity:durable", "RunWorkflow:func1"}, names)
	}
}

// An event has three steps, so what is passed to a step must stay cheap.
func TestPassingASpanCostsLittle(t *testing.T) {
	span := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
	})
	require.True(t, span.Equal(unpackSpan(packSpan(span))))
	require.False(t, unpackSpan(nil).IsValid())
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { unpackSpan(packSpan(span)) }), 3.0)
}
