package runs

import (
	"testing"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"

	"holdfast/event"
)

// The identity that terminated a run decides whether a schedule runs its event again: not after an operator, but after Temporal's
// limits.
func TestWhoTerminatedARunDecides(t *testing.T) {
	t.Parallel()
	by := func(identity string) *historypb.HistoryEvent {
		return &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionTerminatedEventAttributes{
			WorkflowExecutionTerminatedEventAttributes: &historypb.WorkflowExecutionTerminatedEventAttributes{
				Identity: identity, Reason: "why",
			},
		}}
	}
	for identity, want := range map[string]bool{"temporal-cli:ada@host": true, "": true, "history-service": false} {
		code, message := whyClosed(event.CodeTerminated, by(identity))
		require.Equal(t, want, event.Failure{Class: event.ClassFailed, Code: code}.EndedByOperator(), identity)
		require.Contains(t, message, "why")
		if want {
			require.Contains(t, message, event.AwaitsOperator)
		} else {
			require.Equal(t, event.CodeTerminatedByTemporal, code)
		}
	}
}
