package chaos

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"holdfast/delivery"
	"holdfast/internal/devstack/stacktest"
)

// world is one installation: a database, a namespace, the processes and the links between them.
type world struct {
	*stack
	t         testing.TB
	rng       *rand.Rand // the scenario's random choices
	dir       string
	name      string // of the database
	namespace string
	sql       *postgres       // that has the database
	standby   *postgres       // of sql; nil if it has none
	pooler    *pooler         // in front of sql; nil if there is none
	adapt     func(*exec.Cmd) // changes the commands of Holdfast's processes unless nil
	environ   []string        // more variables for everything that runs Holdfast

	ingresses, workers []*node
	// How the processes reach their stores.
	ingressTemporal, ingressDatabase, workerTemporal, workerDatabase *link

	load     *load
	receiver *receiver // of all events
	ordered  *ordered  // nil unless a scenario subscribes it
	decided  decided
	rewound  rewound
}

// node is a process of Holdfast.
type node struct {
	*process
	ingress, operator string // base URLs
	baseline          usage
	binary            string // replaces holdfast unless ""
	environ           []string
	role              string
}

// canary is in payloads, headers and secrets, and must not be in any log or metric.
const canary = "CANARY-6f1d"

const (
	roleName     = "application"
	rolePassword = "application"
)

var worlds atomic.Int64

// newWorld creates an installation and starts it.
func newWorld(t testing.TB, s *scenario) *world {
	t.Helper()
	servers.heal(t)
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(s.name))
	number := worlds.Add(1)
	w := &world{
		stack: servers, t: t, rng: rand.New(rand.NewPCG(*seed, hash.Sum64())), dir: t.TempDir(),
		name: fmt.Sprintf("chaos_%d", number), namespace: fmt.Sprintf("chaos-%d", number), sql: servers.database,
	}
	if s.prepare != nil {
		s.prepare(w)
	}
	if s.disk != 0 {
		w.sql = diskOf(t, s.disk)
	}
	if s.replicated {
		w.sql, w.standby = replicatedDatabase(t, s.asynchronous)
	}
	w.makeDatabase()
	if s.pooled {
		w.pool()
	}
	if s.replicated && !s.asynchronous {
		w.sql.awaitSynchronous(w.t)
	}
	w.makeLinks()
	w.makeNamespace()
	w.migrate()
	w.receiver = newReceiver(t)
	w.subscribe("everything", w.receiver, delivery.Events{})
	for i := range 2 {
		w.workers = append(w.workers, w.node("worker", i, w.workerTemporal, w.workerDatabase, s.environ))
		w.ingresses = append(w.ingresses, w.node("ingress", i, w.ingressTemporal, w.ingressDatabase, s.environ))
	}
	for _, n := range w.nodes() {
		n.launch(t)
	}
	t.Cleanup(func() {
		for _, n := range w.nodes() {
			n.thaw()
			n.kill()
		}
		if t.Failed() {
			kept, err := os.MkdirTemp("", "holdfast-chaos-failed-") //nolint:usetesting // it outlives the test
			t.Logf("logs and ledger are kept in %s: %v", kept, errors.Join(err, os.CopyFS(filepath.Join(kept, s.name), os.DirFS(w.dir))))
		}
	})
	for _, n := range w.nodes() {
		n.awaitReady(t)
	}
	return w
}

func (w *world) nodes() []*node { return append(append([]*node{}, w.workers...), w.ingresses...) }

// each does something with some of the processes.
func (w *world) each(nodes []*node, do func(*node)) {
	for _, n := range nodes {
		do(n)
	}
}

// makeDatabase copies the template. The processes use a role that owns nothing, as in production.
func (w *world) makeDatabase() {
	w.sql.exec(w.t, "postgres", fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", w.name, template),
		fmt.Sprintf(`DO $$ BEGIN CREATE ROLE %s LOGIN PASSWORD '%s';
			EXCEPTION WHEN duplicate_object THEN NULL; END $$`, roleName, rolePassword))
	w.sql.exec(w.t, w.name,
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "+roleName)
	w.t.Cleanup(func() {
		if w.sql == servers.database && w.sql.server != nil {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			if c, err := pgx.Connect(ctx, w.sql.url("postgres")); err == nil {
				_, _ = c.Exec(ctx, "DROP DATABASE IF EXISTS "+w.name+" WITH (FORCE)")
				_ = c.Close(ctx)
			}
		}
	})
}

func (w *world) makeLinks() {
	database := hostOf(w.sql.url(w.name))
	if w.pooler != nil {
		database = w.pooler.address()
	}
	for _, l := range []struct {
		link     **link
		name     string
		upstream string
	}{
		{&w.ingressTemporal, "ingress-to-temporal", w.address},
		{&w.workerTemporal, "worker-to-temporal", w.address},
		{&w.ingressDatabase, "ingress-to-database", database},
		{&w.workerDatabase, "worker-to-database", database},
	} {
		made, err := newLink(l.name, l.upstream)
		require.NoError(w.t, err)
		w.t.Cleanup(made.cut)
		*l.link = made
	}
}

func (w *world) makeNamespace() {
	namespaces, err := sdk.NewNamespaceClient(sdk.Options{HostPort: w.address})
	require.NoError(w.t, err)
	defer namespaces.Close()
	err = namespaces.Register(w.t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: w.namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	var exists *serviceerror.NamespaceAlreadyExists
	if !errors.As(err, &exists) {
		require.NoError(w.t, err)
	}
	c := w.client()
	eventually(w.t, time.Minute, "the namespace is known", func() error {
		_, err := c.CountWorkflow(w.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: w.namespace})
		return err
	})
}

// client returns a direct client of Temporal.
func (w *world) client() sdk.Client {
	c, err := w.dial(w.namespace)
	require.NoError(w.t, err)
	w.t.Cleanup(c.Close)
	return c
}

// migrate prepares the namespace. Its schedules would continue for the rest of the run, so they end with the scenario.
func (w *world) migrate() {
	out, err := w.run("migrate")
	require.NoError(w.t, err, out)
	w.t.Cleanup(func() {
		c, err := w.dial(w.namespace)
		if err != nil {
			return
		}
		defer c.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		list, err := c.ScheduleClient().List(ctx, sdk.ScheduleListOptions{})
		for err == nil && list.HasNext() {
			schedule, failed := list.Next()
			if failed != nil {
				return
			}
			_ = c.ScheduleClient().GetHandle(ctx, schedule.ID).Delete(ctx)
		}
	})
}

// run runs a command of the binary as the owner of the database.
func (w *world) run(args ...string) (string, error) { return w.runBinary(holdfast, args...) }

// runBinary runs a command of a variant of the binary as the owner of the database.
func (w *world) runBinary(binary string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, binary, args...)
	command.Env = w.environment(w.address, w.sql.url(w.name))
	out, err := command.CombinedOutput()
	return string(out), err
}

func (w *world) environment(temporal, database string) []string {
	return append(append(cleanEnvironment(),
		"DATABASE_URL="+database, "TEMPORAL_ADDRESS="+temporal, "TEMPORAL_NAMESPACE="+w.namespace,
		"STRIPE_WEBHOOK_SECRET="+stripeSecret, "STANDARD_WEBHOOKS_SECRET="+standardSecret,
		"HMAC_WEBHOOK_SECRET="+hmacSecret, "GITHUB_WEBHOOK_SECRET="+hmacSecret,
		"HOLDFAST_WORKER_GRACE=5s", "HOLDFAST_REPLAY_SWEEP_INTERVAL=2s", "HOLDFAST_REPLAY_AUTOMATIC=false",
		"HOLDFAST_DELIVERIES_ALLOWED_NETWORKS=127.0.0.0/8",
	), w.environ...)
}

func (w *world) node(role string, i int, temporal, database *link, environ []string) *node {
	ports, err := stacktest.FreePorts(2)
	require.NoError(w.t, err)
	public, private := "127.0.0.1:"+ports[0], "127.0.0.1:"+ports[1]
	name := fmt.Sprintf("%s-%d", role, i+1)
	n := &node{role: role, ingress: "http://" + public, operator: "http://" + private, environ: environ}
	n.process = &process{name: name, log: logPath(w.dir, name), ready: n.probe, command: func() *exec.Cmd {
		binary := n.binary
		if binary == "" {
			binary = holdfast
		}
		c := exec.Command(binary, role)
		c.Env = append(w.environment(temporal.address(), w.databaseURL(database)),
			"HOLDFAST_INGRESS_ADDR="+public, "HOLDFAST_OPERATOR_ADDR="+private)
		c.Env = append(c.Env, n.environ...)
		if w.adapt != nil {
			w.adapt(c)
		}
		return c
	}}
	return n
}

var probes = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func (n *node) probe(ctx context.Context) error {
	_, err := n.get(ctx, "/readyz")
	return err
}

// get requests a page of the operator port.
func (n *node) get(ctx context.Context, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.operator+path, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := probes.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s of %s answers %s", path, n.name, response.Status)
	}
	return string(text), err
}

// restart stops the whole installation in order and starts it again.
func (w *world) restart() {
	for _, n := range append(append([]*node{}, w.ingresses...), w.workers...) {
		n.terminate(w.t)
	}
	for _, n := range w.nodes() {
		n.launch(w.t)
	}
	for _, n := range w.nodes() {
		n.awaitReady(w.t)
	}
}

// recover starts whatever is down.
func (w *world) recover() {
	w.heal(w.t)
	w.sql.start(w.t)
	for _, l := range []*link{w.ingressTemporal, w.ingressDatabase, w.workerTemporal, w.workerDatabase} {
		l.heal(w.t)
	}
	for _, n := range w.nodes() {
		n.thaw()
		n.launch(w.t)
	}
}

// sleep lets a fault last.
func (w *world) sleep(d time.Duration) { time.Sleep(d) }

// some returns a random duration from low to below high.
func (w *world) some(low, high time.Duration) time.Duration {
	return low + time.Duration(w.rng.Int64N(int64(high-low)))
}

// on returns the world with another database server, for queries.
func (w *world) on(p *postgres) *world {
	of := *w
	of.sql = p
	return &of
}

// count returns the number from a query, read directly.
func (w *world) count(query string, args ...any) (n int, err error) {
	err = w.read(&n, query, args...)
	return n, err
}

// read reads the value of a query.
func (w *world) read(into any, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, w.sql.url(w.name))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	return c.QueryRow(ctx, query, args...).Scan(into)
}

// awaitCount waits until a query returns at least a number.
func (w *world) awaitCount(limit time.Duration, least int, query string, args ...any) {
	w.t.Helper()
	eventually(w.t, limit, fmt.Sprintf("%s ≥ %d", query, least), func() error {
		n, err := w.count(query, args...)
		if err == nil && n < least {
			err = fmt.Errorf("it is %d", n)
		}
		return err
	})
}
