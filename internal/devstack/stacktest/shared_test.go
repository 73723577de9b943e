package stacktest_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"holdfast/internal/devstack/stacktest"
)

// sharing makes this program run TestServersAreShared as a command of Share.
const sharing = "HOLDFAST_STACKTEST_SHARES"

func TestACommandSharesItsServers(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), sharing+"=yes")
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "--- PASS: TestServersAreShared")
}

// Each package has its own databases and namespace on the same servers, and none may stop them.
func TestServersAreShared(t *testing.T) {
	if os.Getenv(stacktest.SharedVariable) == "" {
		t.Skip("TestACommandSharesItsServers runs it")
	}
	addresses, namespaces := map[string]bool{}, map[string]bool{}
	for range 2 { // packages
		c, err := stacktest.StartCluster()
		require.NoError(t, err)
		require.NoError(t, c.Template(createColours))
		for range 2 { // tests
			require.NoError(t, query(c.Database(t), "INSERT INTO colours VALUES ('red')"))
		}
		addresses[c.URL("postgres")] = true
		require.ErrorContains(t, c.Stop(), "NewCluster")
		require.ErrorContains(t, c.Kill(), "NewCluster")

		s, err := stacktest.StartTemporal(stacktest.TemporalOptions{SearchAttributes: map[string]string{"Amount": "Int"}})
		require.NoError(t, err)
		addresses[s.Address()], namespaces[s.Namespace()] = true, true
		require.ErrorContains(t, s.Freeze(), "NewTemporal")
		client, err := client.Dial(client.Options{HostPort: s.Address(), Namespace: s.Namespace()})
		require.NoError(t, err)
		defer client.Close()
		_, err = client.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: "Amount > 1"})
		require.NoError(t, err)
	}
	require.Len(t, addresses, 2, "one PostgreSQL and one Temporal")
	require.Len(t, namespaces, 2)
}
