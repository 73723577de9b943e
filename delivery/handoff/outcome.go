package handoff

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"

	"holdfast/delivery"
	"holdfast/event"
)

// done is an attempt that went well, with what it has reached.
func (c call) done(code, runID string) delivery.Result {
	answer, err := json.Marshal(struct {
		WorkflowID string `json:"workflow_id"`
		RunID      string `json:"run_id,omitempty"`
	}{c.workflowID, runID})
	if err != nil {
		panic(err) // two texts
	}
	return delivery.Result{Kind: delivery.OK, Code: code, Answer: answer}
}

// unmade is an order that could not be made of the event.
func unmade(err error) delivery.Result {
	code := "input_error"
	if event.CodeOf(err) == "invalid_workflow_id" {
		code = "invalid_workflow_id"
	}
	return delivery.Unmade(code, err)
}

// isNoWorkflow says that no workflow with the ID runs.
func isNoWorkflow(err error) bool {
	var missing *serviceerror.NotFound
	return errors.As(err, &missing)
}

// failed says what became of a call by its error. What the event has brought about is final; what the destination has is tried
// again, and opens its breaker: a namespace that is missing would else make a dead letter of every event.
func (c call) failed(ctx context.Context, err error) delivery.Result {
	var namespace *serviceerror.NamespaceNotFound
	if errors.As(err, &namespace) {
		return delivery.Result{Kind: delivery.Bad, Code: "namespace_not_found", Error: "Temporal does not know the namespace"}
	}
	status := serviceerror.ToStatus(err)
	if isUnanswered(status.Code()) && ctx.Err() != nil {
		return givenUp(ctx)
	}
	switch status.Code() { //nolint:exhaustive // the rest has no meaning of its own
	case codes.InvalidArgument:
		reason := "Temporal refuses it: " + c.clean(status.Message())
		return delivery.Result{Kind: delivery.Final, Code: "invalid_argument", Error: reason}
	case codes.NotFound:
		return delivery.Result{Kind: delivery.Bad, Code: "workflow_not_found", Error: "no workflow with this ID runs"}
	case codes.ResourceExhausted:
		if strings.Contains(status.Message(), "larger than max") {
			return delivery.Result{Kind: delivery.Final, Code: "payload_too_large", Error: "Temporal does not take as much at once"}
		}
		return delivery.Result{Kind: delivery.Busy, Code: "resource_exhausted", Error: "Temporal is at its limit"}
	case codes.PermissionDenied, codes.Unauthenticated:
		return delivery.Result{Kind: delivery.Bad, Code: "permission_denied", Error: "Temporal does not let the profile do so"}
	case codes.Canceled, codes.DeadlineExceeded:
		return delivery.Result{Kind: delivery.Bad, Code: "timeout", Error: "no answer in time"}
	case codes.Unavailable:
		return delivery.Result{Kind: delivery.Bad, Code: "unavailable", Error: "Temporal cannot be reached"}
	}
	return delivery.Result{Kind: delivery.Bad, Code: "temporal_error", Error: "Temporal answered " + status.Code().String()}
}

func isUnanswered(c codes.Code) bool {
	return c == codes.Canceled || c == codes.DeadlineExceeded || c == codes.Unavailable
}

// givenUp is an attempt that its context has ended: at its deadline, or because the process stops.
func givenUp(ctx context.Context) delivery.Result {
	if errors.Is(ctx.Err(), context.Canceled) {
		return delivery.Result{Kind: delivery.Ours, Code: "stopped", Error: "it was given up"}
	}
	return delivery.Result{Kind: delivery.Bad, Code: "timeout", Error: "no answer in time"}
}

// maxReason bounds what is kept of a reason, in bytes.
const maxReason = 300

// clean is a message of the server without what came from the event.
func (c call) clean(message string) string {
	for _, text := range append(c.shown, c.workflowID, c.fairnessKey) {
		if text != "" {
			message = strings.ReplaceAll(message, text, "…")
		}
	}
	return strings.ToValidUTF8(message[:min(len(message), maxReason)], "")
}
