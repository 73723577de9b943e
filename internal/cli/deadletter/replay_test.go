package deadletter

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
)

// Who waits for a replay reads why it failed, and nothing of how a client of Temporal wraps that.
func TestAReplayThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	why := temporal.NewNonRetryableApplicationError("dead letter 1: parse rejected: malformed_json", "EventDeadLettered", nil)
	err := fmt.Errorf("workflow execution error (type: , workflowID: w, runID: r): %w", why)
	require.EqualError(t, ownWords(err), "dead letter 1: parse rejected: malformed_json")
	require.Equal(t, context.Canceled, ownWords(context.Canceled))
}
