package temporalserver_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"holdfast/internal/devstack/stacktest"
	"holdfast/internal/devstack/temporalserver"
)

// A server on PostgreSQL that is killed and restarted has its workflows, on the same address.
func TestTheServerKeepsWorkflowsInPostgres(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	options := temporalserver.Options{
		Bin: filepath.Join(root, "bin"), Dir: t.TempDir(), Store: stacktest.NewCluster(t).URL("postgres"), Shards: 4,
		DynamicConfig:    filepath.Join(root, "deploy", "temporal", "dynamicconfig.yaml"),
		SearchAttributes: map[string]string{"Provider": "Keyword"},
	}
	first, err := temporalserver.Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(first.Kill)
	_, err = dial(t, first).ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "kept", TaskQueue: "nobody", TypedSearchAttributes: temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword("Provider").ValueSet("stripe")),
	}, "Anything")
	require.NoError(t, err)
	first.Kill()
	require.Error(t, first.Ping(t.Context()))

	options.Port = first.Port()
	second, err := temporalserver.Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(second.Kill)
	require.Equal(t, first.Address(), second.Address())
	c := dial(t, second)
	require.Eventually(t, func() bool {
		_, err := c.DescribeWorkflow(t.Context(), "kept", "")
		return err == nil
	}, 2*time.Minute, 20*time.Millisecond, "the workflow is there")
	require.NoError(t, second.Stop(t.Context()))
}

func dial(t *testing.T, s *temporalserver.Server) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{HostPort: s.Address(), Namespace: s.Namespace()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}
