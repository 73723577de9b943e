package handoff

import (
	"bytes"
	"context"
	"errors"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"

	"holdfast/delivery"
)

// identity is who started or signaled, as Temporal shows it.
const identity = "holdfast"

// The codes of what went well.
const (
	codeStarted  = "started"
	codeSignaled = "signaled"
	codeExisting = "existing"
	codeClosed   = "closed"
)

// call is one attempt of an order.
type call struct {
	*link
	*order

	// retry says that an attempt was made before, of which the answer may have been lost.
	retry bool
}

// start starts the workflow. Temporal answers a request id that the run knows as it did before. Where there may have been an
// attempt before, a later run of the same workflow tells by its memo.
func (c call) start(ctx context.Context) delivery.Result {
	response, err := persistently(ctx, func() (*workflowservice.StartWorkflowExecutionResponse, error) {
		return c.service.StartWorkflowExecution(ctx, c.startRequest())
	})
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	switch {
	case err == nil:
		return c.done(codeStarted, response.GetRunId())
	case !errors.As(err, &started):
		return c.failed(ctx, err)
	case c.retry && c.hasStarted(ctx):
		return c.done(codeStarted, started.RunId)
	case c.order.start.IfExists == "dead_letter":
		return delivery.Result{Kind: delivery.Final, Code: codeExisting, Error: "somebody else has started a workflow with this ID"}
	}
	return c.done(codeExisting, started.RunId)
}

// hasStarted reports whether the workflow with the ID was started by this delivery.
func (c call) hasStarted(ctx context.Context) bool {
	described, err := c.service.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: c.namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: c.workflowID},
	})
	memo := described.GetWorkflowExecutionInfo().GetMemo().GetFields()[memoDelivery]
	return err == nil && bytes.Equal(memo.GetData(), jsonPayload(c.requestID).GetData())
}

func (c call) startRequest() *workflowservice.StartWorkflowExecutionRequest {
	return &workflowservice.StartWorkflowExecutionRequest{
		Namespace:                c.namespace,
		WorkflowId:               c.workflowID,
		WorkflowType:             &commonpb.WorkflowType{Name: c.order.start.Type},
		TaskQueue:                c.queue(),
		Input:                    &commonpb.Payloads{Payloads: c.input},
		Identity:                 identity,
		RequestId:                c.requestID,
		WorkflowIdReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowIdConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		Memo:                     c.memo(),
		SearchAttributes:         c.attributes(),
		Header:                   c.header(),
		UserMetadata:             c.metadata(),
		Priority:                 c.priority(),
	}
}

// signal signals the workflow. One that is not there, or has ended, may come: the policy tries again.
func (c call) signal(ctx context.Context) delivery.Result {
	if err := c.plainSignal(ctx); err != nil {
		return c.failed(ctx, err)
	}
	return c.done(codeSignaled, "")
}

func (c call) plainSignal(ctx context.Context) error {
	_, err := persistently(ctx, func() (*workflowservice.SignalWorkflowExecutionResponse, error) {
		return c.service.SignalWorkflowExecution(ctx, &workflowservice.SignalWorkflowExecutionRequest{
			Namespace:         c.namespace,
			WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: c.workflowID},
			SignalName:        c.signalName,
			Input:             &commonpb.Payloads{Payloads: c.signalInput},
			Identity:          identity,
			RequestId:         c.requestID,
			Header:            c.header(),
		})
	})
	return err
}

// signalWithStart signals the workflow, and starts it if it does not run. Where the answer of an earlier attempt may have been
// lost, a plain signal comes first: the run that has it takes it as the same. Then a start that refuses what has ended tells
// whether that was started by this delivery.
func (c call) signalWithStart(ctx context.Context) delivery.Result {
	reuse := enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	again := c.ifClosed == "" || c.ifClosed == "start"
	if c.retry {
		err := c.plainSignal(ctx)
		if err == nil {
			return c.done(codeSignaled, "")
		}
		if !isNoWorkflow(err) {
			return c.failed(ctx, err)
		}
	} else if again {
		reuse = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	}
	response, err := c.withStart(ctx, reuse)
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	if !errors.As(err, &started) {
		return c.withStarted(ctx, response, err)
	}
	switch {
	case c.retry && c.hasStarted(ctx):
		return c.done(codeStarted, started.RunId)
	case again:
		response, err := c.withStart(ctx, enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE)
		return c.withStarted(ctx, response, err)
	case c.ifClosed == "dead_letter":
		return delivery.Result{Kind: delivery.Final, Code: "workflow_closed", Error: "the workflow has ended"}
	}
	return c.done(codeClosed, started.RunId)
}

func (c call) withStarted(
	ctx context.Context, r *workflowservice.SignalWithStartWorkflowExecutionResponse, err error,
) delivery.Result {
	switch {
	case err != nil:
		return c.failed(ctx, err)
	case r.GetStarted():
		return c.done(codeStarted, r.GetRunId())
	}
	return c.done(codeSignaled, r.GetRunId())
}

func (c call) withStart(
	ctx context.Context, reuse enumspb.WorkflowIdReusePolicy,
) (*workflowservice.SignalWithStartWorkflowExecutionResponse, error) {
	return persistently(ctx, func() (*workflowservice.SignalWithStartWorkflowExecutionResponse, error) {
		return c.service.SignalWithStartWorkflowExecution(ctx, &workflowservice.SignalWithStartWorkflowExecutionRequest{
			Namespace:                c.namespace,
			WorkflowId:               c.workflowID,
			WorkflowType:             &commonpb.WorkflowType{Name: c.order.start.Type},
			TaskQueue:                c.queue(),
			Input:                    &commonpb.Payloads{Payloads: c.input},
			Identity:                 identity,
			RequestId:                c.requestID,
			WorkflowIdReusePolicy:    reuse,
			WorkflowIdConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
			SignalName:               c.signalName,
			SignalInput:              &commonpb.Payloads{Payloads: c.signalInput},
			Memo:                     c.memo(),
			SearchAttributes:         c.attributes(),
			Header:                   c.header(),
			UserMetadata:             c.metadata(),
			Priority:                 c.priority(),
		})
	})
}

func (c call) queue() *taskqueuepb.TaskQueue {
	return &taskqueuepb.TaskQueue{Name: c.taskQueue, Kind: enumspb.TASK_QUEUE_KIND_NORMAL}
}

const (
	// maxTries is how often a call is made within one attempt: raw calls are not retried by the SDK.
	maxTries   = 4
	firstPause = 100 * time.Millisecond
)

// persistently repeats a call over a moment in which Temporal moves a shard or a connection is lost.
func persistently[R any](ctx context.Context, call func() (R, error)) (R, error) {
	pause := firstPause
	for try := 1; ; try++ {
		response, err := call()
		code := serviceerror.ToStatus(err).Code()
		if err == nil || try == maxTries || code != codes.Unavailable && code != codes.Aborted {
			return response, err
		}
		select {
		case <-time.After(pause):
			pause *= 2
		case <-ctx.Done():
			return response, err
		}
	}
}
