package denial

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every reason has a rank, a meaning and a next step.
func TestEveryReasonIsExplained(t *testing.T) {
	t.Parallel()
	require.Len(t, causes, len(Reasons()))
	for _, reason := range Reasons() {
		cause := reason.Cause()
		require.NotEmpty(t, cause.Means, reason)
		require.NotEmpty(t, cause.Next, reason)
	}
	require.Empty(t, Reason("invented").Cause())
	require.Equal(t, NoSecret, ReasonOf(errors.New("another error")))
}
