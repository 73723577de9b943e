package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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

// The database is older than the program:
//   - a role that needs it refuses to start and names the command
//   - the command fixes it
func TestAStartWithoutMigrationsNamesTheCommand(t *testing.T) {
	t.Parallel()
	i := installationOn(t, emptyDatabase(t))
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

// A role with several configuration mistakes reports all of them at once.
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

// A role with a mistake that its components find, each kind without a server:
//   - it ends with the reason, which names what to correct, and without a stack trace
func TestEveryRoleSaysWhyItDoesNotStart(t *testing.T) {
	t.Parallel()
	definitions := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(definitions, "acme.yaml"), []byte(acme+"priority: urgent\n"), 0o600))
	mistakes := map[string]struct{ variable, reason string }{
		"a definition":       {"HOLDFAST_PROVIDERS_DIR=" + definitions, "acme.yaml:9:1: priority:"},
		"a folder":           {"HOLDFAST_PROVIDERS_DIR=/nowhere", "open /nowhere: no such file"},
		"a secret's file":    {"GITHUB_WEBHOOK_SECRET_FILE=/nowhere", "GITHUB_WEBHOOK_SECRET_FILE names a file"},
		"a notification URL": {"HOLDFAST_NOTIFY_URLS=nonsense://hush", "HOLDFAST_NOTIFY_URLS: "},
		"a certificate":      {"TEMPORAL_TLS_SERVER_CA_CERT_PATH=/nowhere", "/nowhere"},
	}
	i := &installation{database: "postgres://nobody@127.0.0.1:1/none", namespace: "none"}
	for _, role := range []string{"serve", "ingress", "worker", "operator"} {
		for name, mistake := range mistakes {
			t.Run(role+"/"+name, func(t *testing.T) {
				t.Parallel()
				n := i.launch(t, role, mistake.variable)
				select {
				case <-n.exited:
				case <-time.After(busy * 30 * time.Second):
					require.FailNow(t, "it runs with the mistake")
				}
				require.Equal(t, 1, n.command.ProcessState.ExitCode())
				require.Contains(t, n.log.String(), "holdfast: ")
				require.Contains(t, n.log.String(), mistake.reason)
				for _, never := range []string{"panic", "goroutine", "hush"} {
					require.NotContains(t, n.log.String(), never)
				}
			})
		}
	}
}

// The roles as separate processes, started in the wrong order:
//   - an event goes from the ingress to the worker, and the metrics of both show it
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
		`holdfast_events_received_total{duplicate="false",event_type="customer.updated",provider="stripe",state="accepted"} 1`)
	require.Contains(t, worker.metrics(t),
		`holdfast_step_executions_total{lane="fast",outcome="ok",step="PersistEvent"} 1`)
}
