package deadletter

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// A dead letter that may repeat another event is compared first; what is rejected, or has failed, has other next steps.
func TestADeadLetterInDoubtIsComparedFirst(t *testing.T) {
	t.Parallel()
	for _, class := range event.Classes() {
		next := advice(event.DeadLetter{ID: 7, State: event.DeadLetterOpen, Failure: event.Failure{Class: class}})
		require.Contains(t, next, "holdfast dlq replay 7", class)
		if class == event.ClassInDoubt || class == event.ClassConflict {
			require.Contains(t, next, "holdfast event show", class)
			require.Contains(t, next, "holdfast dlq discard 7 --reason", class)
		} else {
			require.NotContains(t, next, "Compare", class)
		}
	}
}

// An operator ended the run: the next step is that operator's, not a schedule's.
func TestADeadLetterOfAnEndedRunSaysWhoDecides(t *testing.T) {
	t.Parallel()
	for _, code := range []string{event.CodeTerminated, event.CodeCanceled} {
		next := advice(event.DeadLetter{ID: 7, State: event.DeadLetterOpen,
			Failure: event.Failure{Class: event.ClassFailed, Code: code}})
		require.Contains(t, next, "no schedule runs it again", code)
		require.Contains(t, next, "holdfast dlq discard 7 --reason", code)
	}
}
