package telemetry

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/trace"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	temporalotel "go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
)

// withoutSteps is Temporal's tracing interceptor without spans for local activities: two for each step of an event, and most of
// what a trace costs. A local activity continues the span of its workflow instead, so its statements and log lines are in the
// trace of the event. If a step fails, its next execution is an activity, which has spans.
type withoutSteps struct{ interceptor.Interceptor }

// spanHeader is the header that passes the span of a workflow to its local activities. Headers of local activities aren't in
// histories.
const spanHeader = "holdfast-span"

// InterceptWorkflow implements interceptor.WorkerInterceptor. The tracing interceptor is between an outer one, which sees how
// things are called without it, and an inner one, which calls local activities that way.
func (w withoutSteps) InterceptWorkflow(
	ctx workflow.Context, next interceptor.WorkflowInboundInterceptor,
) interceptor.WorkflowInboundInterceptor {
	outbound := &stepOutbound{}
	inner := &innerInbound{interceptor.WorkflowInboundInterceptorBase{Next: next}, outbound}
	traced := w.Interceptor.InterceptWorkflow(ctx, inner)
	return &outerInbound{interceptor.WorkflowInboundInterceptorBase{Next: traced}, outbound}
}

type outerInbound struct {
	interceptor.WorkflowInboundInterceptorBase

	outbound *stepOutbound
}

func (o *outerInbound) Init(untraced interceptor.WorkflowOutboundInterceptor) error {
	o.outbound.untraced = untraced
	return o.Next.Init(untraced)
}

type innerInbound struct {
	interceptor.WorkflowInboundInterceptorBase

	outbound *stepOutbound
}

func (i *innerInbound) Init(traced interceptor.WorkflowOutboundInterceptor) error {
	i.outbound.Next = traced
	return i.Next.Init(i.outbound)
}

type stepOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase

	untraced interceptor.WorkflowOutboundInterceptor
}

func (s *stepOutbound) ExecuteLocalActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	if span, ok := temporalotel.SpanFromWorkflowContext(ctx); ok {
		interceptor.WorkflowHeader(ctx)[spanHeader] = packSpan(span.SpanContext())
	}
	return s.untraced.ExecuteLocalActivity(ctx, name, args...)
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (w withoutSteps) InterceptActivity(
	ctx context.Context, next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	traced := w.Interceptor.InterceptActivity(ctx, next)
	return &stepInbound{interceptor.ActivityInboundInterceptorBase{Next: traced}, next}
}

type stepInbound struct {
	interceptor.ActivityInboundInterceptorBase

	untraced interceptor.ActivityInboundInterceptor
}

func (s *stepInbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if !activity.GetInfo(ctx).IsLocalActivity {
		return s.Next.ExecuteActivity(ctx, in)
	}
	span := unpackSpan(interceptor.Header(ctx)[spanHeader])
	return s.untraced.ExecuteActivity(trace.ContextWithSpanContext(ctx, span), in)
}

// packSpan takes a fraction of what the text of a traceparent in JSON takes, and stays inside the process.
func packSpan(c trace.SpanContext) *commonpb.Payload {
	id, span := c.TraceID(), c.SpanID()
	return &commonpb.Payload{Data: slices.Concat(id[:], span[:], []byte{byte(c.TraceFlags())})}
}

// unpackSpan returns no span if there is none.
func unpackSpan(p *commonpb.Payload) trace.SpanContext {
	data := p.GetData()
	if len(data) != len(trace.TraceID{})+len(trace.SpanID{})+1 {
		return trace.SpanContext{}
	}
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID(data[:16]), SpanID: trace.SpanID(data[16:24]), TraceFlags: trace.TraceFlags(data[24]),
	})
}
