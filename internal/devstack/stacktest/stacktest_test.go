package stacktest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"holdfast/internal/devstack/stacktest"
)

var cluster *stacktest.Cluster

func TestMain(m *testing.M) {
	stacktest.ExitIfShort()
	if os.Getenv(sharing) != "" {
		_ = os.Unsetenv(sharing) // the command is this program, too
		os.Exit(stacktest.Share([]string{os.Args[0], "-test.run=^TestServersAreShared$", "-test.v"}))
	}
	os.Exit(stacktest.Main(m, func() (err error) {
		if cluster, err = stacktest.StartCluster(); err != nil {
			return err
		}
		return cluster.Template(createColours)
	}))
}

func createColours(url string) error {
	return query(url, "CREATE TABLE colours (name text PRIMARY KEY)")
}

func query(url, sql string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

// Each test has its own database, made from the template, even when many are made concurrently.
func TestDatabasesAreIsolated(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			url := cluster.Database(t)
			require.NoError(t, query(url, "INSERT INTO colours VALUES ('red')"))
			require.Error(t, query(url, "INSERT INTO colours VALUES ('red')"), "the same key twice")
		})
	}
}

// An outage of Temporal: the address is dead while it is stopped; afterwards it has the same workflows.
func TestTemporalStopsAndStarts(t *testing.T) {
	t.Parallel()
	temporal := stacktest.NewTemporal(t, stacktest.TemporalOptions{Durable: true})
	c, err := client.Dial(client.Options{HostPort: temporal.Address()})
	require.NoError(t, err)
	defer c.Close()
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "w", TaskQueue: "none"}, "Sleeper")
	require.NoError(t, err)

	require.NoError(t, temporal.Stop())
	_, err = c.CheckHealth(t.Context(), &client.CheckHealthRequest{})
	require.Error(t, err)

	require.NoError(t, temporal.Start())
	described, err := c.DescribeWorkflowExecution(t.Context(), "w", run.GetRunID())
	require.NoError(t, err)
	require.Equal(t, "Sleeper", described.GetWorkflowExecutionInfo().GetType().GetName())
}

// An outage of PostgreSQL, as caused by tests that simulate one.
func TestClusterStopsStartsAndIsKilled(t *testing.T) {
	t.Parallel()
	own := stacktest.NewCluster(t)
	url := own.Database(t)
	require.NoError(t, createColours(url))

	require.NoError(t, own.Stop())
	require.Error(t, query(url, "SELECT 1"))
	require.NoError(t, own.Start())
	require.NoError(t, query(url, "INSERT INTO colours VALUES ('red')"))

	require.NoError(t, own.Kill())
	require.NoError(t, own.Await(t.Context()))
	require.Error(t, query(url, "INSERT INTO colours VALUES ('red')"), "the same key twice")
}
