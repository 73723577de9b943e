package workflows

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast/event"
)

// Limits of local activities. Three steps fit into one workflow task (10 s), so that a slow database doesn't time out the task.
const (
	localTimeout  = 2 * time.Second
	localAttempts = 2
	localInterval = 50 * time.Millisecond
)

// Pauses between uncounted retries.
const (
	transientInterval    = time.Second
	transientCoefficient = 2
	transientMaximum     = 15 * time.Second
)

// deadLetterTimeout bounds one attempt to record a dead letter; attempts are unlimited.
const deadLetterTimeout = 15 * time.Second

// operationTimeout bounds a page of an operation.
const operationTimeout = 5 * time.Minute

// heartbeatTimeout bounds how long it takes to detect a dead worker or a lost task.
const heartbeatTimeout = 15 * time.Second

// finalErrors lists the error types that end an activity and return to the workflow.
func finalErrors() []string {
	return []string{
		string(event.ClassFailed), string(event.ClassRejected), string(event.ClassInDoubt), string(event.ClassConflict),
	}
}

// startToCloseTimeout is the server's error type for an attempt that timed out. A missed heartbeat has another type, and is
// always retried.
const startToCloseTimeout = "TemporalTimeout:StartToClose"

// defaultPolicy is the policy of the parse step, which returns the provider's own policy. Retrying the parse step only helps if
// a worker doesn't have the definition yet, as during a deployment.
func defaultPolicy() event.Policy {
	return event.Policy{
		Attempts: 3,
		Delays:   []event.Duration{event.Duration(5 * time.Second), event.Duration(30 * time.Second)},
		Jitter:   0.2,
		Timeout:  event.Duration(30 * time.Second),
	}
}

// maxSummary is in bytes. Temporal allows 400, encrypted or not.
const maxSummary = 150

// withLocalOptions sets the options of a local activity, which is how most steps run.
func withLocalOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: localTimeout,
		Summary:                clip(summary),
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:        localInterval,
			MaximumAttempts:        localAttempts,
			NonRetryableErrorTypes: finalErrors(),
		},
	})
}

func clip(summary string) string {
	if len(summary) <= maxSummary {
		return summary
	}
	return strings.ToValidUTF8(summary[:maxSummary], "") + "…"
}

// withRetryOptions sets the options of a regular activity after the local one failed: it is visible and can be paused and reset.
// The server retries transient errors without limit.
func withRetryOptions(ctx workflow.Context, p event.Policy, summary string) workflow.Context {
	ending := finalErrors()
	if p.FailOnTimeout {
		ending = append(ending, startToCloseTimeout)
	}
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Duration(p.Timeout),
		HeartbeatTimeout:    heartbeatTimeout,
		Summary:             summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:        transientInterval,
			BackoffCoefficient:     transientCoefficient,
			MaximumInterval:        transientMaximum,
			NonRetryableErrorTypes: ending,
		},
	})
}

// withDeadLetterOptions sets the options for recording a dead letter: a separate queue, and unlimited retries for every error
// class, because otherwise the event would be lost. If recording fails because of a bug, the retries succeed once the fix is
// deployed.
func withDeadLetterOptions(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:             QueueDeadLetter,
		StartToCloseTimeout:   deadLetterTimeout,
		Summary:               "dead letter",
		DisableEagerExecution: true,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:    transientInterval,
			BackoffCoefficient: transientCoefficient,
			MaximumInterval:    time.Minute,
		},
	})
}

// withOperationOptions sets the options of operations and schedules: unlimited retries, so that a database outage doesn't end
// them.
func withOperationOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: operationTimeout,
		HeartbeatTimeout:    heartbeatTimeout,
		Summary:             summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:    transientInterval,
			BackoffCoefficient: transientCoefficient,
			MaximumInterval:    transientMaximum,
		},
	})
}

// withRequestOptions sets the options of user requests: only transient errors are retried.
func withRequestOptions(ctx workflow.Context, summary string) workflow.Context {
	ctx = withOperationOptions(ctx, summary)
	retry := *workflow.GetActivityOptions(ctx).RetryPolicy
	retry.NonRetryableErrorTypes = finalErrors()
	return workflow.WithRetryPolicy(ctx, retry)
}

const singleTimeout = time.Minute

// withSingleAttempt sets the options of an activity that must not run twice, such as sending a message. The only retried error is
// that of a worker that doesn't have the activity, as during an upgrade.
func withSingleAttempt(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: singleTimeout,
		Summary:             summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:        transientInterval,
			MaximumInterval:        transientMaximum,
			NonRetryableErrorTypes: append(finalErrors(), string(event.ClassTransient), startToCloseTimeout),
		},
	})
}

// delay returns the pause after the nth counted failure, n from 1. Its jitter depends on the event ID, so that a replay of the
// history computes the same pause.
func delay(p event.Policy, n int, eventID string) time.Duration {
	return time.Duration(float64(p.Pause(n)) * (1 + p.Jitter*spread(eventID, n)))
}

// spread returns a number in [-1, 1) that depends only on event and attempt.
func spread(eventID string, n int) float64 {
	sum := sha256.Sum256([]byte(eventID + "#" + strconv.Itoa(n)))
	const span = 1 << 53
	return float64(binary.BigEndian.Uint64(sum[:])%span)/span*2 - 1
}
