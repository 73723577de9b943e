package deadletter

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
)

// A failed replay prints its cause without what Temporal's client wraps around it.
func TestAReplayThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	why := temporal.NewNonRetryableApplicationError("dead letter 1: parse rejected: malformed_json", "EventDeadLettered", nil)
	err := fmt.Errorf("workflow execution error (type: , workflowID: w, runID: r): %w", why)
	require.EqualError(t, ownWords(err), "dead letter 1: parse rejected: malformed_json")
	require.Equal(t, context.Canceled, ownWords(context.Canceled))
}
