package workflows

import (
	"cmp"
	"errors"
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast/event"
)

// step is a step of processing an event. It runs as a local activity first, which needs no queue and adds little history. If that
// fails, it runs as a regular activity, which operators can see, pause and reset.
//
// The workflow counts failures against the policy and starts one activity for each, so that every counted attempt is in the
// history with its reason. The server retries transient errors within an activity, without limit and without adding history, so
// that an outage of days uses up no attempts.
type step struct {
	name    event.Step
	summary string // of the activities; default: name
	policy  event.Policy
	eventID string
	// persistsAgain ends the step at once if the event has no row.
	persistsAgain bool
	// isSlow skips the local activity.
	isSlow bool
}

// run executes the step until it succeeds or its policy is exhausted; nil means success.
func (s step) run(ctx workflow.Context, result any, c invocation) *event.Failure {
	if s.isSlow {
		return s.retry(ctx, result, c, s.attempt(ctx, result, c, 1))
	}
	activityCtx := withLocalOptions(ctx, cmp.Or(s.summary, string(s.name)))
	err := workflow.ExecuteLocalActivity(activityCtx, c.activity, c.args...).Get(ctx, result)
	return s.retry(ctx, result, c, err)
}

// runOn is run for a step that is always a regular activity, on a queue of its own.
func (s step) runOn(ctx workflow.Context, queue string, result any, c invocation) *event.Failure {
	ctx = workflow.WithTaskQueue(ctx, queue)
	return s.retry(ctx, result, c, s.attempt(ctx, result, c, 1))
}

// attempt executes the step as a regular activity.
func (s step) attempt(ctx workflow.Context, result any, c invocation, n int) error {
	activityCtx := withRetryOptions(ctx, s.policy, fmt.Sprintf("%s · attempt %d of %d", cmp.Or(s.summary, string(s.name)), n,
		s.policy.Attempts))
	return workflow.ExecuteActivity(activityCtx, c.activity, c.args...).Get(ctx, result)
}

// retry executes the step again after an error.
func (s step) retry(ctx workflow.Context, result any, c invocation, err error) *event.Failure {
	for counted := 0; err != nil; {
		class := classOf(err)
		if class == event.ClassFailed {
			counted++
		}
		if ctx.Err() != nil {
			return s.canceled(ctx, err, counted)
		}
		if class.IsFinal() || counted >= s.policy.Attempts || s.persistsAgain && lacksRow(codeOf(err)) {
			return s.failure(ctx, err, counted)
		}
		if class == event.ClassFailed {
			if err = workflow.Sleep(ctx, delay(s.policy, counted, s.eventID)); err != nil {
				return s.canceled(ctx, err, counted)
			}
		}
		err = s.attempt(ctx, result, c, counted+1)
		if s.policy.FailOnTimeout && isTimedOut(err) && ctx.Err() == nil {
			return s.timedOut(ctx, counted)
		}
	}
	return nil
}

// lacksRow reports whether a step has failed with a code because the database no longer has the event's row.
func lacksRow(code string) bool { return code == event.CodeNotPersisted }

// canceled returns the failure of a step after an operator canceled the run, regardless of the last error.
func (s step) canceled(ctx workflow.Context, err error, counted int) *event.Failure {
	f := s.failure(ctx, err, counted)
	message := "the run was canceled before the event was processed"
	if f.Code != event.CodeCanceled {
		message += " (last error: " + f.Message + ")"
	}
	f.Class, f.Code, f.Message = event.ClassFailed, event.CodeCanceled, message+event.AwaitsOperator
	return f
}

// timedOut returns the failure of a step that timed out under a policy with FailOnTimeout. It is never retried.
func (s step) timedOut(ctx workflow.Context, counted int) *event.Failure {
	return &event.Failure{
		Step: s.name, Class: event.ClassRejected, Code: "timeout", Attempts: counted + 1, At: workflow.Now(ctx).UTC(),
		Message: "timed out after " + s.policy.Timeout.String() + "; the definition sets on_timeout: fail, so it isn't retried",
	}
}

func isTimedOut(err error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout) && timeout.TimeoutType() == enums.TIMEOUT_TYPE_START_TO_CLOSE
}

func (s step) failure(ctx workflow.Context, err error, counted int) *event.Failure {
	return &event.Failure{
		Step:     s.name,
		Class:    classOf(err),
		Code:     codeOf(err),
		Message:  messageOf(err),
		Attempts: max(counted, 1),
		At:       workflow.Now(ctx).UTC(),
	}
}

// classOf returns the error class, which activities set as the type of their errors. A timeout is transient: it says nothing
// about the event.
func classOf(err error) event.Class {
	if application, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		switch class := event.Class(application.Type()); class {
		case event.ClassTransient, event.ClassRejected, event.ClassFailed, event.ClassInDoubt, event.ClassConflict:
			return class
		}
		return event.ClassFailed
	}
	if temporal.IsTimeoutError(err) {
		return event.ClassTransient
	}
	return event.ClassFailed
}

func codeOf(err error) string {
	if temporal.IsCanceledError(err) {
		return event.CodeCanceled
	}
	var application *temporal.ApplicationError
	var code string
	if errors.As(err, &application) && application.HasDetails() && application.Details(&code) == nil {
		return code
	}
	return "unclassified"
}

func messageOf(err error) string {
	if application, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return application.Message()
	}
	return err.Error()
}
