package activities

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"holdfast/event"
)

type lateStore struct{}

func (lateStore) Write(context.Context, event.Scope, event.Receipt, []byte, event.Parsed, event.Run) (event.Persisted, error) {
	return event.Persisted{WithoutEffect: 3}, nil
}

// Changes that come too late to show are counted, too, where the upsert step has a transaction of its own.
func TestTheUpsertStepCountsChangesWithoutEffect(t *testing.T) { //nolint:paralleltest // it sets the meters of the process
	reader := meters()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	do := &Activities{Events: lateStore{}}
	env.RegisterActivity(do)
	_, err := env.ExecuteActivity(do.UpsertEntities, event.Receipt{Provider: "late"}, event.Parsed{}, event.Persisted{})
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"late": 3}, sums(t, reader, "holdfast_changes_without_effect_total", "late", "provider"))
}
