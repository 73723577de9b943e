package handoff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"

	"holdfast/delivery"
	"holdfast/event"
)

// done returns the result of a successful attempt, with the workflow and run as its answer.
func (c attempt) done(code, runID string) delivery.Result {
	answer, err := json.Marshal(struct {
		WorkflowID string `json:"workflow_id"`
		RunID      string `json:"run_id,omitempty"`
	}{c.workflowID, runID})
	if err != nil {
		panic(err) // strings always encode
	}
	return delivery.Result{Kind: delivery.OK, Code: code, Answer: answer, Reach: delivery.Reached}
}

// buildFailure is the result when the event can't be turned into a request.
func buildFailure(err error) delivery.Result {
	code := "input_error"
	if event.CodeOf(err) == codeInvalidID {
		code = codeInvalidID
	}
	return delivery.BuildFailure(code, err)
}

// isNoWorkflow reports whether no workflow with the ID is running.
func isNoWorkflow(err error) bool {
	var missing *serviceerror.NotFound
	return errors.As(err, &missing)
}

// maxStoredID is the max length of a workflow ID, in characters, that PostgreSQL and MySQL store for Temporal. Temporal's own
// limit is higher, unless it is configured, and it reports the longer ones as if it were unavailable.
const maxStoredID = 255

func (c attempt) isTooLong(err error) bool {
	return utf8.RuneCountInString(c.workflowID) > maxStoredID &&
		strings.Contains(strings.ToLower(serviceerror.ToStatus(err).Message()), "too long for")
}

// failed classifies the error of a call. Errors caused by the event are final. Errors of the destination are retried and open its
// breaker: otherwise a missing namespace would create a dead letter for every event.
func (c attempt) failed(ctx context.Context, err error) delivery.Result {
	var namespace *serviceerror.NamespaceNotFound
	if errors.As(err, &namespace) {
		return delivery.Result{Kind: delivery.Bad, Code: "namespace_not_found", Error: "the namespace doesn't exist"}
	}
	status := serviceerror.ToStatus(err)
	if isUnanswered(status.Code()) && ctx.Err() != nil {
		return aborted(ctx)
	}
	if c.isTooLong(err) {
		return delivery.Result{Kind: delivery.Final, Code: codeInvalidID, Reach: delivery.Reached, Error: fmt.Sprintf(
			"workflow_id yields %d characters; the database of this Temporal stores %d: shorten it", utf8.RuneCountInString(c.workflowID),
			maxStoredID)}
	}
	switch status.Code() { //nolint:exhaustive // the rest has no meaning of its own
	case codes.InvalidArgument:
		reason := "Temporal rejected the request: " + c.clean(status.Message())
		return delivery.Result{Kind: delivery.Final, Code: "invalid_argument", Error: reason}
	case codes.NotFound:
		return delivery.Result{Kind: delivery.Missing, Code: "workflow_not_found", Error: "no workflow with this ID is running"}
	case codes.ResourceExhausted:
		if strings.Contains(status.Message(), "larger than max") {
			return delivery.Result{Kind: delivery.Final, Code: "payload_too_large", Error: "the payload exceeds Temporal's size limit"}
		}
		return delivery.Result{Kind: delivery.Busy, Code: "resource_exhausted", Error: "Temporal is rate-limiting the namespace"}
	case codes.PermissionDenied, codes.Unauthenticated:
		return delivery.Result{Kind: delivery.Bad, Code: "permission_denied", Error: "the profile lacks the permission"}
	case codes.Canceled, codes.DeadlineExceeded:
		return delivery.Result{Kind: delivery.Bad, Code: "timeout", Error: "no response in time"}
	case codes.Unavailable:
		return delivery.Result{
			Kind: delivery.Bad, Code: "unavailable", Error: "Temporal is unreachable", Reach: reachOf(status.Message()),
		}
	}
	return delivery.Result{Kind: delivery.Bad, Code: "temporal_error", Error: "Temporal answered " + status.Code().String()}
}

// reachOf returns whether the host of Temporal was reached. The text is gRPC's.
func reachOf(unavailable string) delivery.Reach {
	switch {
	case strings.Contains(unavailable, "connection refused"):
		return delivery.Reached
	case strings.Contains(unavailable, "while dialing"), strings.Contains(unavailable, "name resolver"):
		return delivery.Unreached
	}
	return delivery.ReachUnknown
}

func isUnanswered(c codes.Code) bool {
	return c == codes.Canceled || c == codes.DeadlineExceeded || c == codes.Unavailable
}

// aborted is the result of an attempt whose context ended, by its deadline or by a shutdown.
func aborted(ctx context.Context) delivery.Result {
	if errors.Is(ctx.Err(), context.Canceled) {
		return delivery.Result{Kind: delivery.Ours, Code: "stopped", Error: "the attempt was aborted"}
	}
	return delivery.Result{Kind: delivery.Bad, Code: "timeout", Error: "no response in time"}
}

// maxReason bounds the stored part of a message, in bytes.
const maxReason = 300

// clean removes content of the event from a server message.
func (c attempt) clean(message string) string {
	for _, text := range append(c.shown, c.workflowID, c.fairnessKey) {
		if text != "" {
			message = strings.ReplaceAll(message, text, "…")
		}
	}
	return strings.ToValidUTF8(message[:min(len(message), maxReason)], "")
}
