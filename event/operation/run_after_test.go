package operation_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
)

// A dead letter belongs to the run that was started, or to one of its event that is open; else it waits again.
func TestRunAfter(t *testing.T) {
	t.Parallel()
	started, open := event.Run{WorkflowID: "w", RunID: "started"}, event.Run{WorkflowID: "w", RunID: "open"}
	for _, c := range []struct {
		err  error
		want event.Run
		ok   bool
	}{
		{nil, started, true},
		{fmt.Errorf("start: %w", &operation.RunExistsError{Run: open, Open: true}), open, true},
		{&operation.RunExistsError{Run: open, Open: true, InTheWay: true}, event.Run{}, false},
		{&operation.RunExistsError{Run: open}, event.Run{}, false},
		{errors.New("away"), event.Run{}, false},
	} {
		run, ok := operation.RunAfter(started, c.err)
		require.Equal(t, c.ok, ok, c.err)
		require.Equal(t, c.want, run, c.err)
	}
}
