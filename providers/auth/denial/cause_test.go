package denial

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every reason has a rank, a meaning, a next step and a row on the page of refusals.
func TestEveryReasonIsExplained(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/refusals.md")
	require.NoError(t, err)
	require.Len(t, causes, len(Reasons()))
	for _, reason := range Reasons() {
		cause := reason.Cause()
		require.NotEmpty(t, cause.Means, reason)
		require.NotEmpty(t, cause.Next, reason)
		row := "| `" + string(reason) + "` | " + cause.Means + " | " + cause.Next + " |"
		if !strings.Contains(string(page), row) { // the page is too long for a failure message
			t.Errorf("docs/refusals.md lacks %s", row)
		}
	}
	require.Empty(t, Reason("invented").Cause())
	require.Equal(t, NoSecret, ReasonOf(errors.New("another error")))
}
