package devstack

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
)

// A server on PostgreSQL that is killed and started again has its workflows, on the same address.
func TestTemporalServerKeepsWorkflowsInPostgres(t *testing.T) {
	t.Parallel()
	postgres := startPostgres(t, t.TempDir())
	options := TemporalServerOptions{
		Bin: filepath.Join("..", "..", "bin"), Dir: t.TempDir(), Store: postgres.URL("postgres"), Shards: 4,
		DynamicConfig:    filepath.Join("..", "..", "deploy", "temporal", "dynamicconfig.yaml"),
		SearchAttributes: map[string]string{"Provider": "Keyword"},
	}
	first, err := StartTemporalServer(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(first.Kill)
	startRun(t, dial(t, first), "kept", temporal.NewSearchAttributeKeyKeyword("Provider").ValueSet("stripe"))
	first.Kill()
	require.Error(t, first.Ping(t.Context()))

	options.Port = first.Port()
	second, err := StartTemporalServer(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(second.Kill)
	require.Equal(t, first.Address(), second.Address())
	client := dial(t, second)
	eventually(t, "the workflow is there", func() bool { return runExists(t.Context(), client, "kept") })
	require.NoError(t, second.Stop(t.Context()))
}
