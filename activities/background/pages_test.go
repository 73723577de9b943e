package background

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"holdfast/event/operation"
)

// resendIn stands in for the store of one resend, and counts its pages.
type resendIn struct {
	ResendStore

	state operation.State
	pages int
}

func (s *resendIn) Read(_ context.Context, id string) (operation.Resend, error) {
	return operation.Resend{Base: operation.Base{ID: id, State: s.state, Rate: 1}}, nil
}

func (s *resendIn) Page(ctx context.Context, id string, _ int) (operation.Resend, error) {
	s.pages++
	return s.Read(ctx, id)
}

// A page locks the row of its operation, so a paused operation has none. A canceled one needs one to end.
func TestAPausedOperationHasNoPages(t *testing.T) {
	t.Parallel()
	for state, pages := range map[operation.State]int{operation.Paused: 0, operation.Completed: 0, operation.Canceled: 1} {
		s := &resendIn{state: state}
		env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
		all := &Activities{Resends: s}
		env.RegisterActivity(all.ResendPage)
		encoded, err := env.ExecuteActivity(all.ResendPage, "one")
		require.NoError(t, err)
		var r operation.Resend
		require.NoError(t, encoded.Get(&r))
		require.Equal(t, state, r.State)
		require.Equal(t, pages, s.pages, state)
	}
}
