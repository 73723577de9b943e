package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

func atLeast(got, want int) error {
	if got < want {
		return fmt.Errorf("%d of %d", got, want)
	}
	return nil
}

// The database is behind the program:
//   - a role that needs it refuses to start and names the command
//   - the command helps
func TestAStartWithoutMigrationsNamesTheCommand(t *testing.T) {
	t.Parallel()
	i := &installation{database: emptyDatabase(t), namespace: createNamespace(t)}
	n := i.launch(t, "worker")
	select {
	case <-n.exited:
	case <-time.After(30 * time.Second):
		require.FailNow(t, "the worker runs without its tables")
	}
	require.NotZero(t, n.command.ProcessState.ExitCode())
	require.Contains(t, n.log.String(), "holdfast migrate")

	out, err := i.run(t, "migrate")
	require.NoError(t, err, out)
	i.start(t, "worker")
}

func emptyDatabase(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("empty_%d", sequence.Add(1))
	connection, err := pgx.Connect(context.Background(), cluster.URL("postgres"))
	require.NoError(t, err)
	defer connection.Close(context.Background())
	_, err = connection.Exec(context.Background(), "CREATE DATABASE "+name)
	require.NoError(t, err)
	return cluster.URL(name)
}

// Every role starts with mistakes in its configuration all named at once.
func TestAllMistakesAreNamedAtOnce(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.launch(t, "serve", "HOLDFAST_INGRESS_BODY_LIMIT=lots", "HOLDFAST_WORKER_SLOTS_NORMAL=0", "HOLDFAST_WROKER_GRACE=5s")
	<-n.exited
	require.NotZero(t, n.command.ProcessState.ExitCode())
	for _, want := range []string{"HOLDFAST_INGRESS_BODY_LIMIT", "HOLDFAST_WORKER_SLOTS_NORMAL", "HOLDFAST_WORKER_GRACE"} {
		require.Contains(t, n.log.String(), want)
	}
}

// The roles as processes of their own, started in the wrong order:
//   - an event goes from the ingress to the worker, and metrics of both tell of it
func TestRolesRunApart(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	worker := i.start(t, "worker")
	door := i.start(t, "ingress")
	i.start(t, "operator")
	id := uniqueID("evt")
	require.Equal(t, 202, door.send(t, customerUpdated(id, uniqueID("cus"), "Ada", time.Now())).status)
	i.awaitStatus(t, "stripe:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)

	require.Contains(t, door.metrics(t),
		`holdfast_events_received_total{event_type="customer.updated",provider="stripe",state="accepted"} 1`)
	require.Contains(t, worker.metrics(t),
		`holdfast_step_executions_total{lane="fast",outcome="ok",step="PersistEvent"} 1`)
}
