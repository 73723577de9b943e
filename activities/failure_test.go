package activities

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"holdfast/event"
)

// An attempt that was interrupted, or has used up its time, isn't counted against its event, whatever it was doing. An error of
// the store or of a definition is.
func TestAnInterruptionDoesNotCountAgainstTheEvent(t *testing.T) {
	t.Parallel()
	rejected := &event.Error{Class: event.ClassRejected, Code: "not_null_violation", Text: "column name"}
	for name, c := range map[string]struct {
		err   error
		class event.Class
		code  string
	}{
		"shutdown":                      {context.Canceled, event.ClassTransient, "unclassified"},
		"deadline":                      {context.DeadlineExceeded, event.ClassTransient, "unclassified"},
		"deadline during a read":        {fmt.Errorf("read: %w", context.DeadlineExceeded), event.ClassTransient, "unclassified"},
		"deadline and another error":    {errors.Join(rejected, context.DeadlineExceeded), event.ClassTransient, "not_null_violation"},
		"cancellation during a read":    {fmt.Errorf("read: %w", context.Canceled), event.ClassTransient, "unclassified"},
		"refused by the store":          {rejected, event.ClassRejected, "not_null_violation"},
		"an error that nothing classes": {errors.New("boom"), event.ClassFailed, "unclassified"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			class, code := Classify(c.err)
			require.Equal(t, c.class, class)
			require.Equal(t, c.code, code)

			var failed *temporal.ApplicationError
			require.ErrorAs(t, failure(c.err), &failed)
			require.Equal(t, string(c.class), failed.Type())
			require.False(t, failed.NonRetryable(), "the workflow decides")
			var detail string
			require.NoError(t, failed.Details(&detail))
			require.Equal(t, c.code, detail)
		})
	}
	require.NoError(t, failure(nil))
}
