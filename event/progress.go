package event

import (
	"fmt"
	"time"
)

// Progress is where the open run of an event is.
type Progress struct {
	// TaskStarted: a worker is processing its workflow task. TaskAttempts counts the attempts of that task, and TaskFailure is why
	// one failed, if that is known.
	TaskStarted  bool
	TaskAttempts int
	TaskFailure  string
	// Step is what the run executes or repeats, as its history names it; empty before the first step and between two.
	Step string
	// StepStarted: a worker is executing the step. StepPaused: an operator has paused it.
	StepStarted, StepPaused bool
	// Code and Failure are the error of its last attempt; empty if it hasn't failed. Failure begins with the code.
	Code, Failure string
	// RetryAt is when the next attempt is due; zero if the step isn't waiting for a retry.
	RetryAt time.Time
}

// FailingTask is the number of attempts at which a workflow task counts as failing: a deployment costs one or two attempts.
const FailingTask = 3

// CodeUnknownProvider is the code of an event whose worker has no definition of its provider.
const CodeUnknownProvider = "unknown_provider"

// Wait describes what an event that isn't processed yet is waiting for.
type Wait struct {
	Reason string `json:"reason"`
	// Advice says what to do if it keeps waiting.
	Advice string `json:"advice"`
	// Activity is the step that failed or is running, as Temporal Web names it.
	Activity string `json:"activity,omitempty"`
	// Error is the error of its last attempt.
	Error string `json:"error,omitempty"`
	// RetryAt is when the step runs again, if it is waiting for its next attempt.
	RetryAt time.Time `json:"retry_at,omitzero"`
}

// Wait explains why the run of a workflow hasn't ended.
func (p Progress) Wait(workflowID string, now time.Time) Wait {
	w := Wait{Activity: p.Step, Error: p.Failure}
	if p.RetryAt.After(now) {
		w.RetryAt = p.RetryAt
	}
	show := "temporal workflow describe --workflow-id " + workflowID
	switch {
	case p.TaskAttempts >= FailingTask:
		w.Reason = fmt.Sprintf("its workflow task fails (attempt %d)%s", p.TaskAttempts, because(p.TaskFailure))
		w.Advice = "`" + show + "` shows the failure: start workers with code, and payload keys, that can process it"
	case p.StepPaused:
		w.Reason = "its step (" + p.Step + ") is paused in Temporal" + because(p.Failure)
		w.Advice = "continue it: temporal activity unpause --workflow-id " + workflowID
	case p.Failure != "":
		w.Reason = fmt.Sprintf("its step failed (%s), and %s%s", p.Step, p.next(w.RetryAt, now), because(p.Failure))
		w.Advice = p.remedy(w.RetryAt) + "; the step is retried automatically. `holdfast error list` and `" + show + "` show more"
	case p.StepStarted, p.TaskStarted:
		w.Reason, w.Advice = "a worker is processing it", "if this lasts, check the database: `holdfast doctor`"
	default:
		w.Reason = "waiting for a worker"
		w.Advice = "start `holdfast worker` or `holdfast serve`; `holdfast doctor` shows which queues have no workers"
	}
	return w
}

func because(failure string) string {
	if failure == "" {
		return ""
	}
	return ": " + failure
}

// next says when a failed step runs again.
func (p Progress) next(at, now time.Time) string {
	switch {
	case p.StepStarted, p.TaskStarted:
		return "is running again"
	case at.IsZero():
		return "waits for a worker to run it again"
	default:
		return fmt.Sprintf("runs again in %s, at %s", max(at.Sub(now).Round(time.Second), time.Second), at.UTC().Format(time.RFC3339))
	}
}

// remedy says how to fix the cause of a failure.
func (p Progress) remedy(at time.Time) string {
	switch {
	case p.Code == CodeUnknownProvider:
		return "give every worker the definitions that the ingress has, such as HOLDFAST_PROVIDERS_DIR=/etc/holdfast/providers"
	case at.IsZero() && !p.StepStarted && !p.TaskStarted:
		return "start `holdfast worker` or `holdfast serve` if none is running, and fix the cause"
	default:
		return "fix the cause"
	}
}
