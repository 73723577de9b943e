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

// step is one step of an event's way. It runs on the fast lane first (a local activity: no queue, no history of its own) and,
// when that does not succeed, on the durable lane (a regular activity), where operators can see, pause and reset it.
//
// Failures are counted against the policy by the workflow, one activity each, so that every counted attempt stands in the
// history with its reason. Trouble of the infrastructure is retried inside the activity, by the server, without limit and
// without a trace in the history, so that an outage of days costs no event its attempts.
type step struct {
	name    event.Step
	about   string // the summary of its execution on the fast lane; its name, if empty
	policy  event.Policy
	eventID string
}

// run executes the step until it succeeds or its policy is used up; nil means success.
func (s step) run(ctx workflow.Context, result any, c call) *event.Failure {
	err := workflow.ExecuteLocalActivity(withFastLane(ctx, cmp.Or(s.about, string(s.name))), c.activity, c.args...).Get(ctx, result)
	for counted := 0; err != nil; {
		class := classOf(err)
		if class == event.ClassFailed {
			counted++
		}
		if ctx.Err() != nil {
			return s.canceled(ctx, err, counted)
		}
		if class.IsFinal() || counted >= s.policy.Attempts {
			return s.failure(ctx, err, counted)
		}
		if class == event.ClassFailed {
			if err = workflow.Sleep(ctx, delay(s.policy, counted, s.eventID)); err != nil {
				return s.canceled(ctx, err, counted)
			}
		}
		lane := withDurableLane(ctx, s.policy, fmt.Sprintf("%s · attempt %d of %d", s.name, counted+1, s.policy.Attempts))
		err = workflow.ExecuteActivity(lane, c.activity, c.args...).Get(ctx, result)
		if s.policy.FailOnTimeout && isOvertime(err) && ctx.Err() == nil {
			return s.overtime(ctx, counted)
		}
	}
	return nil
}

// canceled is the failure of a step whose run an operator has canceled, whatever the step's own last error was.
func (s step) canceled(ctx workflow.Context, err error, counted int) *event.Failure {
	f := s.failure(ctx, err, counted)
	message := "the run was canceled before the event was processed"
	if f.Code != event.CodeCanceled {
		message += " (last error: " + f.Message + ")"
	}
	f.Class, f.Code, f.Message = event.ClassFailed, event.CodeCanceled, message+event.AwaitsOperator
	return f
}

// overtime is the failure of a step that the definition gives one time only. It is final: nothing runs it again by itself.
func (s step) overtime(ctx workflow.Context, counted int) *event.Failure {
	return &event.Failure{
		Step: s.name, Class: event.ClassRejected, Code: "timeout", Attempts: counted + 1, At: workflow.Now(ctx).UTC(),
		Message: "an execution took longer than " + s.policy.Timeout.String() + ", which the definition lets fail for good",
	}
}

func isOvertime(err error) bool {
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

// classOf reads the class from the type of an activity's error. A time-out says nothing of the event, only of where it ran.
func classOf(err error) event.Class {
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
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
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return application.Message()
	}
	return err.Error()
}
