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

// identity is the client identity that Temporal shows.
const identity = "holdfast"

// Codes of successful attempts.
const (
	codeStarted  = "started"
	codeSignaled = "signaled"
	codeExisting = "existing"
	codeClosed   = "closed"
)

// attempt sends a request once.
type attempt struct {
	*link
	*request

	// retry: an earlier attempt may have succeeded although its response was lost.
	retry bool
}

// start starts the workflow. Temporal recognizes the request ID of a run that it has already started. If an earlier attempt may
// have succeeded, the memo of a later run of the workflow ID also tells.
func (c attempt) start(ctx context.Context) delivery.Result {
	response, err := withRetries(ctx, c.isTooLong, func() (*workflowservice.StartWorkflowExecutionResponse, error) {
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
	case c.request.start.IfExists == "dead_letter":
		return delivery.Result{Kind: delivery.Final, Code: codeExisting, Error: "another client has started a workflow with this ID"}
	}
	return c.done(codeExisting, started.RunId)
}

// hasStarted reports whether this delivery started the workflow.
func (c attempt) hasStarted(ctx context.Context) bool {
	described, err := c.service.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: c.namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: c.workflowID},
	})
	memo := described.GetWorkflowExecutionInfo().GetMemo().GetFields()[memoDelivery]
	return err == nil && bytes.Equal(memo.GetData(), jsonPayload(c.requestID).GetData())
}

func (c attempt) startRequest() *workflowservice.StartWorkflowExecutionRequest {
	return &workflowservice.StartWorkflowExecutionRequest{
		Namespace:                c.namespace,
		WorkflowId:               c.workflowID,
		WorkflowType:             &commonpb.WorkflowType{Name: c.request.start.Type},
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

// signal signals the workflow. If none is running it fails and is retried: the workflow may start later.
func (c attempt) signal(ctx context.Context) delivery.Result {
	if err := c.plainSignal(ctx); err != nil {
		return c.failed(ctx, err)
	}
	return c.done(codeSignaled, "")
}

func (c attempt) plainSignal(ctx context.Context) error {
	_, err := withRetries(ctx, c.isTooLong, func() (*workflowservice.SignalWorkflowExecutionResponse, error) {
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

// signalWithStart signals the workflow, and starts it if it isn't running. If an earlier attempt may have succeeded, it sends a
// plain signal first, which a run that has it already ignores. Then it starts without reusing the workflow ID, which shows
// whether this delivery started the run that has ended.
func (c attempt) signalWithStart(ctx context.Context) delivery.Result {
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

func (c attempt) withStarted(
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

func (c attempt) withStart(
	ctx context.Context, reuse enumspb.WorkflowIdReusePolicy,
) (*workflowservice.SignalWithStartWorkflowExecutionResponse, error) {
	return withRetries(ctx, c.isTooLong, func() (*workflowservice.SignalWithStartWorkflowExecutionResponse, error) {
		return c.service.SignalWithStartWorkflowExecution(ctx, &workflowservice.SignalWithStartWorkflowExecutionRequest{
			Namespace:                c.namespace,
			WorkflowId:               c.workflowID,
			WorkflowType:             &commonpb.WorkflowType{Name: c.request.start.Type},
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

func (c attempt) queue() *taskqueuepb.TaskQueue {
	return &taskqueuepb.TaskQueue{Name: c.taskQueue, Kind: enumspb.TASK_QUEUE_KIND_NORMAL}
}

const (
	// maxTries is the max number of calls in one attempt: the SDK doesn't retry raw calls.
	maxTries   = 4
	firstPause = 100 * time.Millisecond
)

// withRetries retries a call while Temporal moves a shard or a connection is lost, unless the error is permanent.
func withRetries[R any](ctx context.Context, isPermanent func(error) bool, attempt func() (R, error)) (R, error) {
	pause := firstPause
	for try := 1; ; try++ {
		response, err := attempt()
		code := serviceerror.ToStatus(err).Code()
		if err == nil || try == maxTries || isPermanent(err) || code != codes.Unavailable && code != codes.Aborted {
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
