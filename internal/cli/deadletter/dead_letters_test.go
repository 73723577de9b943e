package deadletter

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/operator/api"
)

// A dead letter that may repeat another event must be compared first; rejected or failed ones have other next steps.
func TestADeadLetterInDoubtIsComparedFirst(t *testing.T) {
	t.Parallel()
	for _, class := range event.Classes() {
		next := advice(api.DeadLetterView{ID: 7, State: event.DeadLetterOpen, Failure: event.Failure{Class: class}})
		require.Contains(t, next, "holdfast dlq replay 7", class)
		if class == event.ClassInDoubt || class == event.ClassConflict {
			require.Contains(t, next, "holdfast event show", class)
			require.Contains(t, next, "holdfast dlq discard 7 --reason", class)
		} else {
			require.NotContains(t, next, "Compare", class)
		}
	}
}

// If an operator ended the run, the next step is an operator's decision, not an automatic replay.
func TestADeadLetterOfAnEndedRunNamesTheNextStep(t *testing.T) {
	t.Parallel()
	for _, code := range []string{event.CodeTerminated, event.CodeCanceled} {
		next := advice(api.DeadLetterView{ID: 7, State: event.DeadLetterOpen,
			Failure: event.Failure{Class: event.ClassFailed, Code: code}})
		require.Contains(t, next, "it isn't retried automatically", code)
		require.Contains(t, next, "holdfast dlq discard 7 --reason", code)
	}
}
