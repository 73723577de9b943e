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

// The budget of the fast lane. Three steps of it fit into one workflow task (10 s), so that a slow store never makes the
// server time the task out.
const (
	fastLaneTimeout  = 2 * time.Second
	fastLaneAttempts = 2
	fastLaneInterval = 50 * time.Millisecond
)

// The pauses between retries that are not counted.
const (
	transientInterval    = time.Second
	transientCoefficient = 2
	transientMaximum     = 15 * time.Second
)

// deadLetterTimeout bounds one attempt to record a dead letter; there are as many attempts as it takes.
const deadLetterTimeout = 15 * time.Second

// operationTimeout bounds a page of a redrive or a sweep.
const operationTimeout = 5 * time.Minute

// heartbeatTimeout is how long the death of a worker, or a task that was lost on its way to it, goes unnoticed.
const heartbeatTimeout = 15 * time.Second

// counted are the error types that end an activity, for the workflow to decide by.
func counted() []string {
	return []string{
		string(event.ClassFailed), string(event.ClassRejected), string(event.ClassInDoubt), string(event.ClassConflict),
	}
}

// overtime is the server's name for an attempt that took longer than it may. The end of a worker is another: it is noticed by the
// missing heartbeat, and retried whatever the definition says.
const overtime = "TemporalTimeout:StartToClose"

// defaultPolicy is for the parse step, whose result is what brings the provider's own policy. Parsing is a pure computation,
// so a retry helps only where a worker does not have the definition yet, as in the middle of a deploy.
func defaultPolicy() event.Policy {
	return event.Policy{
		Attempts: 3,
		Delays:   []event.Duration{event.Duration(5 * time.Second), event.Duration(30 * time.Second)},
		Jitter:   0.2,
		Timeout:  event.Duration(30 * time.Second),
	}
}

// maxSummary is in bytes. Temporal takes 400, encrypted or not.
const maxSummary = 150

// withFastLane is for the common case: it succeeds at once, inside the workflow task. Bounded by fastLaneTimeout.
func withFastLane(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: fastLaneTimeout,
		Summary:                clip(summary),
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:        fastLaneInterval,
			MaximumAttempts:        fastLaneAttempts,
			NonRetryableErrorTypes: counted(),
		},
	})
}

func clip(summary string) string {
	if len(summary) <= maxSummary {
		return summary
	}
	return strings.ToValidUTF8(summary[:maxSummary], "") + "…"
}

// withDurableLane is for events in trouble: visible, pausable and resettable. The server retries what is transient without
// limit; one attempt is bounded by the policy's timeout, and by the life of its worker.
func withDurableLane(ctx workflow.Context, p event.Policy, summary string) workflow.Context {
	ending := counted()
	if p.FailOnTimeout {
		ending = append(ending, overtime)
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

// withDeadLetterLane is for the compensation: a queue of its own and no limit, because there is nothing behind it. No class
// of error ends it; a mistake in it is repaired by a deploy, after which the attempts go on.
func withDeadLetterLane(ctx workflow.Context) workflow.Context {
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

// withOperationLane is for what operations and schedules do: pages that tell that they live. There are as many attempts as it
// takes: a store that is away ends no operation.
func withOperationLane(ctx workflow.Context, summary string) workflow.Context {
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

// withOrderLane is for what a person asks for and waits for: trouble of the infrastructure is retried, and any other error is the
// answer.
func withOrderLane(ctx workflow.Context, summary string) workflow.Context {
	ctx = withOperationLane(ctx, summary)
	retry := *workflow.GetActivityOptions(ctx).RetryPolicy
	retry.NonRetryableErrorTypes = counted()
	return workflow.WithRetryPolicy(ctx, retry)
}

// singleTimeout bounds what is tried once: no channel takes longer.
const singleTimeout = time.Minute

// withSingleLane is for what must not be done twice, as a message to people: one attempt, whatever becomes of it.
func withSingleLane(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: singleTimeout,
		Summary:             summary,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
	})
}

// delay is the pause after the nth counted failure, n from 1. Its jitter comes from the event's ID, so that a replay of the
// history computes the same pause.
func delay(p event.Policy, n int, eventID string) time.Duration {
	return time.Duration(float64(p.Pause(n)) * (1 + p.Jitter*spread(eventID, n)))
}

// spread is a number in [-1, 1) that is always the same for an event and attempt, and even over many events.
func spread(eventID string, n int) float64 {
	sum := sha256.Sum256([]byte(eventID + "#" + strconv.Itoa(n)))
	const span = 1 << 53
	return float64(binary.BigEndian.Uint64(sum[:])%span)/span*2 - 1
}
