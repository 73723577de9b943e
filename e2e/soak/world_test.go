package soak

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"holdfast/internal/devstack/child"
	"holdfast/internal/devstack/program"
	"holdfast/internal/devstack/stacktest"
	"holdfast/migrations"
)

// world is one installation: a PostgreSQL, a Temporal, two processes that each have every role, and a customer's endpoint.
type world struct {
	t        *testing.T
	binary   string
	dir      string // of logs, definitions and subscriptions
	cluster  *stacktest.Cluster
	database string
	pool     *pgxpool.Pool // of the readers
	temporal *stacktest.Temporal
	client   sdk.Client
	nodes    []*node
	endpoint *endpoint
}

const (
	token  = "token-of-the-soak-test"
	secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

// definition has one field of an entity for each event, so that a read shows which events have had their effect.
const definition = `
name: soak
auth:
  - token: {secrets: SOAK_TOKEN, in: header, name: x-soak-token}
type: '"note"'
key: {parts: [.body.id]}
entities:
  - {kind: note, id: .body.note, op: patch, state: '{(.body.field): true}'}
`

// subscriptions retry soon, so that a round of seconds shows what takes hours in production.
const subscriptions = `
destinations:
  endpoint:
    http: {url: %q, secrets: ENDPOINT_SECRET}
    timeout: 2s
    retry: {attempts: 999, initial: 200ms, maximum: 1s}
    breaker: {open: 1s}
subscriptions:
  everything: {to: endpoint}
`

// blocks lets a test make events fail: their row can't be inserted, or their change of an entity. Both look like a violated
// constraint, which makes a dead letter, and end when the key is removed from the table.
const blocks = `
CREATE TABLE soak_blocks (key text PRIMARY KEY, what text NOT NULL);
CREATE FUNCTION soak_block() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_ARGV[0] = 'row' AND EXISTS (SELECT FROM soak_blocks WHERE what = 'row' AND key = to_jsonb(NEW) ->> 'key')
    OR TG_ARGV[0] = 'entity' AND EXISTS (SELECT FROM soak_blocks WHERE what = 'entity' AND to_jsonb(NEW) -> 'change' ? key) THEN
        RAISE EXCEPTION 'blocked by the test' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER soak_block BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION soak_block('row');
CREATE TRIGGER soak_block BEFORE INSERT ON event_entities FOR EACH ROW EXECUTE FUNCTION soak_block('entity');
`

// build compiles the binary, optionally with edits.
func build(t *testing.T, edits ...program.Edit) (path string) {
	t.Helper()
	root, err := stacktest.RepositoryRoot()
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), "holdfast")
	require.NoError(t, program.Build(t.Context(), root, path, edits...))
	return path
}

// newWorld starts an installation of a binary.
func newWorld(t *testing.T, binary string) *world {
	t.Helper()
	w := &world{t: t, binary: binary, dir: t.TempDir(), cluster: stacktest.NewCluster(t), endpoint: newEndpoint(t)}
	t.Cleanup(w.keep)
	require.NoError(t, w.cluster.Template(func(url string) error { return migrations.Up(t.Context(), url) }))
	w.database = w.cluster.Database(t)
	var err error
	w.pool, err = pgxpool.New(t.Context(), w.database)
	require.NoError(t, err)
	t.Cleanup(w.pool.Close)
	_, err = w.pool.Exec(t.Context(), blocks)
	require.NoError(t, err)

	w.temporal = stacktest.NewTemporal(t, stacktest.TemporalOptions{Durable: true})
	w.client, err = sdk.NewLazyClient(sdk.Options{
		HostPort: w.temporal.Address(), Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	require.NoError(t, err)
	t.Cleanup(w.client.Close)

	w.write("providers/soak.yaml", definition)
	w.write("subscriptions.yaml", fmt.Sprintf(subscriptions, w.endpoint.URL))
	w.run("migrate")
	for i := range 2 {
		w.nodes = append(w.nodes, w.start(fmt.Sprintf("serve-%d", i+1)))
	}
	w.run("subscription", "apply", "-f", filepath.Join(w.dir, "subscriptions.yaml"))
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(w.t, os.WriteFile(path, []byte(text), 0o600))
}

// keep keeps the logs of a failed test.
func (w *world) keep() {
	if !w.t.Failed() {
		return
	}
	kept, err := os.MkdirTemp("", "holdfast-soak-failed-")
	require.NoError(w.t, err)
	require.NoError(w.t, os.CopyFS(filepath.Join(kept, "logs"), os.DirFS(w.dir)))
	w.t.Logf("the logs are in %s", kept)
}

func (w *world) environment() []string {
	return append(child.EnvironWithout("DATABASE_URL", "TEMPORAL_", "HOLDFAST_", "OTEL_"),
		"DATABASE_URL="+w.database, "TEMPORAL_ADDRESS="+w.temporal.Address(), "TEMPORAL_NAMESPACE="+w.temporal.Namespace(),
		"HOLDFAST_PROVIDERS_DIR="+filepath.Join(w.dir, "providers"), "SOAK_TOKEN="+token, "ENDPOINT_SECRET="+secret,
		"HOLDFAST_DELIVERIES_ALLOWED_NETWORKS=127.0.0.0/8", "HOLDFAST_WORKER_GRACE=5s", "HOLDFAST_REPLAY_AUTOMATIC=false",
	)
}

func (w *world) run(args ...string) {
	w.t.Helper()
	out, err := w.command(w.t.Context(), args...).CombinedOutput()
	require.NoError(w.t, err, "%v\n%s", args, out)
}

func (w *world) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, w.binary, args...)
	c.Env = w.environment()
	return c
}

// heal ends all faults and waits until everything answers.
func (w *world) heal() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	w.endpoint.refuses.Store(false)
	_ = w.temporal.Thaw()
	require.NoError(w.t, w.cluster.Await(ctx), "PostgreSQL")
	require.NoError(w.t, w.temporal.Await(ctx), "Temporal")
	for _, n := range w.nodes {
		n.signal(thaw)
		w.eventually(time.Minute, n.Name+" is ready", func() error { return n.ready(ctx) })
	}
}

// quietChecks is how many consecutive checks must find no pending work, since Temporal's list of runs lags behind.
const quietChecks = 5

// awaitQuiet waits until no work is pending: no open run, an empty inbox, and no waiting delivery.
func (w *world) awaitQuiet(limit time.Duration) {
	w.t.Helper()
	calm := 0
	w.eventually(limit, "no work is pending", func() error {
		runs, err := w.client.CountWorkflow(w.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: w.temporal.Namespace(), Query: "ExecutionStatus = 'Running' AND WorkflowType = 'ProcessEvent'",
		})
		if err != nil {
			return err
		}
		var spooled, deliveries int
		err = w.pool.QueryRow(w.t.Context(), `SELECT (SELECT count(*) FROM inbox),
			(SELECT count(*) FROM delivery_queue) + (SELECT count(*) FROM delivery_fanouts) +
			(SELECT count(*) FROM delivery_unmatched)`).Scan(&spooled, &deliveries)
		if err != nil {
			return err
		}
		if calm++; runs.GetCount() != 0 || spooled != 0 || deliveries != 0 {
			calm = 0
		}
		if calm < quietChecks {
			return fmt.Errorf("%d runs are open, %d events in the inbox, %d deliveries wait, calm for %d checks",
				runs.GetCount(), spooled, deliveries, calm)
		}
		return nil
	})
}

func (w *world) eventually(limit time.Duration, what string, check func() error) {
	w.t.Helper()
	deadline := time.Now().Add(limit)
	var err error
	for time.Now().Before(deadline) {
		if err = check(); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	require.FailNow(w.t, fmt.Sprintf("after %s, not yet: %s", limit, what), "%v", err)
}

// block makes a new event fail, by its key.
func (w *world) block(ctx context.Context, key, what string) {
	_, _ = w.pool.Exec(ctx, "INSERT INTO soak_blocks VALUES ($1, $2)", key, what) // if PostgreSQL is down, it isn't blocked
}

// unblock is the fix of a cause.
func (w *world) unblock(ctx context.Context, key string) {
	_, _ = w.pool.Exec(ctx, "DELETE FROM soak_blocks WHERE key = $1", key)
}

// selectKeys reads all that the database has about keys, at one moment.
const selectKeys = `
SELECT coalesce(i.event_id::text, ''),
       (SELECT count(*) FROM events WHERE workflow_id = 'soak:' || k.key),
       coalesce((SELECT status FROM events WHERE id = i.event_id), ''),
       EXISTS (SELECT FROM dead_letters WHERE workflow_id = 'soak:' || k.key AND subscription_id = 0
                  AND state IN ('open', 'replaying', 'exhausted')),
       coalesce((SELECT decision FROM decisions WHERE event_id = i.event_id), ''),
       EXISTS (SELECT FROM entities WHERE provider = 'soak' AND kind = 'note' AND external_id = k.note AND state ? k.key)
  FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (key, note, n)
  LEFT JOIN idempotency_keys AS i ON i.provider = 'soak' AND i.key = k.key
 ORDER BY n`

// observe reads keys with all their generations.
func (w *world) observe(ctx context.Context, keys ...string) (seen [][generations]observation, err error) {
	var all, notes []string
	for _, key := range keys {
		for g := range generations {
			all, notes = append(all, revision(key, g)), append(notes, noteOf(key))
		}
	}
	rows, _ := w.pool.Query(ctx, selectKeys, all, notes)
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (o observation, err error) {
		err = row.Scan(&o.EventID, &o.Rows, &o.Status, &o.Waits, &o.Decision, &o.Effect)
		return o, err
	})
	if err != nil {
		return nil, err
	}
	for i := range keys {
		seen = append(seen, [generations]observation(found[i*generations:]))
	}
	return seen, nil
}
