package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"holdfast/internal/devstack/stacktest"
	"holdfast/internal/devstack/temporalserver"
)

// The databases of Holdfast and Temporal are dumped, and restored on a new PostgreSQL, by the commands of docs/upgrades.md; the old
// PostgreSQL and Temporal are lost. Later than the dump of PostgreSQL, an event was processed, of which Temporal's dump knows:
//   - a processed event and its entity are there, and a redelivery is a duplicate
//   - an event in progress is processed
//   - a dead letter is there, and is replayed after its definition has been corrected
//   - a delivery that waited for a retry arrives under its webhook-id
//   - reconcile finds the event that PostgreSQL lacks, and restores it
//   - a new event is processed
func TestABackupIsRestoredByThePage(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"pg_dump", "pg_restore", "createdb", "psql"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the commands of the page need PostgreSQL's clients: %s is missing", program)
		}
	}
	s := newBackup(t)
	old := stacktest.NewCluster(t)
	s.follow(t, []string{"URL=" + old.URL("postgres")}, `createdb --maintenance-db="$URL" holdfast`)
	i, temporal := s.begin(t, old)
	n := i.start(t, "serve")
	shop := newEndpoint(t)
	shop.refuses.Store(true)
	out, err := i.run(t, "subscription", "create", "shop", "--url", shop.URL, "--providers", "stripe")
	require.NoError(t, err, out)

	known := customerUpdated(uniqueID("evt"), "cus_known", "Ada", time.Now())
	first := n.send(t, known).Events[0]
	i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM delivery_queue WHERE attempts > 0 AND event_id = $1", first.EventID)
	dead := i.sendPoison(t, n)
	i.awaitStatus(t, dead, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	release := i.lockEntity(t, "stripe", "customer", "cus_stuck")
	stuck := i.awaitWaiting(t, n, customerUpdated(uniqueID("evt"), "cus_stuck", "Ada", time.Now()))

	backUp := blocksBelow(t, "Back up with pg_dump")
	require.Len(t, backUp, 1)
	holdfasts, temporals, found := strings.Cut(backUp[0], "\n")
	require.True(t, found)
	env := append(i.environment(), "TEMPORAL_DATABASE_URL="+old.URL("temporal"), "VISIBILITY_DATABASE_URL="+old.URL("temporal_visibility"))
	s.follow(t, env, holdfasts)
	between := n.send(t, customerUpdated(uniqueID("evt"), "cus_between", "Ada", time.Now())).Events[0]
	i.awaitCount(t, time.Minute, 1, processedEvents+" AND id = $1", between.EventID)
	eventually(t, time.Minute, "its run is listed", func() error {
		return atLeast(i.runsOf(t, "WorkflowId = '"+between.WorkflowID+"' AND ExecutionStatus = 'Completed'"), 1)
	})
	s.follow(t, env, temporals)

	n.kill() // the machine is lost
	release()
	temporal.Kill()
	i.reading.close()
	require.NoError(t, old.Stop())
	replacement := stacktest.NewCluster(t)
	server, _, _ := strings.Cut(replacement.URL(""), "?")
	for _, block := range blocksBelow(t, "Restore with pg_restore") {
		s.follow(t, append(cleanEnvironment(), "NEW_SERVER="+server), block)
	}

	i, _ = s.begin(t, replacement)
	require.NoError(t, os.WriteFile(s.definition, []byte(definitionOf("text")), 0o644))
	n = i.start(t, "serve")
	require.Equal(t, 1, i.count(t, processedEvents+" AND id = $1", first.EventID))
	require.Contains(t, i.entities(t), "stripe/customer/cus_known")
	require.Equal(t, "processed", n.send(t, known).state(), "a redelivery")
	i.awaitCount(t, 2*time.Minute, 1, processedEvents+" AND workflow_id = $1", stuck)
	shop.refuses.Store(false)
	shop.await(t, first.EventID)

	require.Zero(t, i.count(t, "SELECT count(*) FROM events WHERE id = $1", between.EventID))
	for _, block := range blocksBelow(t, "Compare the stores") {
		s.follow(t, i.environment(), block)
	}
	require.Equal(t, 1, i.count(t, processedEvents+" AND id = $1", between.EventID))
	letter := fmt.Sprint(i.count(t, "SELECT id FROM dead_letters WHERE workflow_id = $1", dead))
	out, err = i.run(t, "dlq", "replay", letter, "--wait")
	require.NoError(t, err, out)
	require.Zero(t, i.count(t, openDeadLetters))
	next := n.send(t, someEvent()).Events[0]
	i.awaitCount(t, time.Minute, 1, processedEvents+" AND id = $1", next.EventID)
	shop.await(t, next.EventID)
}

// backup is what stays when the servers are replaced: definitions, and the folder of the dumps with the program.
type backup struct{ definition, dir string }

func newBackup(t *testing.T) *backup {
	t.Helper()
	s := &backup{definition: filepath.Join(t.TempDir(), "homemade.yaml"), dir: t.TempDir()}
	require.NoError(t, os.WriteFile(s.definition, []byte(definitionOf("json")), 0o644))
	require.NoError(t, os.Symlink(holdfast, filepath.Join(s.dir, "holdfast")))
	return s
}

// begin starts a Temporal with its data on a cluster, which may be a restored one, and migrates Holdfast's database there. Only
// reconcile compares the stores.
func (s *backup) begin(t *testing.T, on *stacktest.Cluster) (*installation, *temporalserver.Server) {
	t.Helper()
	dir := t.TempDir()
	var settings []byte
	for key, value := range stacktest.Promptly {
		settings = fmt.Appendf(settings, "%s:\n  - value: %s\n", key, value)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dynamic.yaml"), settings, 0o600))
	server, err := temporalserver.Start(t.Context(), temporalserver.Options{
		Bin: filepath.Join(root, "bin"), Dir: dir, Store: on.URL("postgres"), Shards: 4, Log: slog.New(slog.DiscardHandler),
		DynamicConfig: filepath.Join(dir, "dynamic.yaml"),
	})
	require.NoError(t, err)
	t.Cleanup(server.Kill)
	i := &installation{database: on.URL("holdfast"), namespace: server.Namespace(), server: server, env: []string{
		"HOLDFAST_PROVIDERS_DIR=" + filepath.Dir(s.definition), "HOLDFAST_DELIVERIES_ALLOWED_NETWORKS=127.0.0.0/8",
		"HOLDFAST_REPLAY_SWEEP_INTERVAL=24h",
	}}
	t.Cleanup(i.reading.close)
	eventually(t, time.Minute, "the namespace is known to all of the server", func() error {
		out, err := i.run(t, "migrate")
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	})
	return i, server
}

// follow runs commands of the page in the folder of the dumps.
func (s *backup) follow(t *testing.T, env []string, commands string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), busy*2*time.Minute)
	defer cancel()
	commands = strings.ReplaceAll(commands, exampleTime, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	command.Dir, command.Env = s.dir, append(env, "PATH="+s.dir+":"+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s\n%s", commands, out)
}
