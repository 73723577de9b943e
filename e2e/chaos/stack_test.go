package chaos

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"holdfast/internal/devstack/stacktest"
	"holdfast/internal/devstack/temporalserver"
	"holdfast/migrations"
)

// stack has the servers shared by all scenarios.
type stack struct {
	dir       string
	database  *postgres // Holdfast's
	memory    *postgres // Temporal's
	temporal  *process
	others    []*process // of Temporal, if it is a cluster; temporal is then a frontend
	address   string     // of Temporal's frontend
	store     *link      // from Temporal to its database
	dynamic   string     // Temporal's dynamic configuration
	overrides string     // settings on top of deploy's
}

const (
	template = "template_of_chaos"
	// quickly makes lists of runs and deletions follow soon, and the server reload its dynamic configuration often.
	quickly = "\nhistory.visibilityProcessorUpdateAckInterval:\n  - value: 500ms\n"
)

func startStack(ctx context.Context) (s *stack, err error) {
	dir, err := stacktest.TempDir("chaos-stack")
	if err != nil {
		return nil, err
	}
	s = &stack{dir: dir, dynamic: filepath.Join(dir, "dynamicconfig.yaml")}
	defer func() {
		if err != nil {
			s.remove()
		}
	}()
	if s.database, err = startPostgres(ctx, filepath.Join(dir, "database"), nil); err != nil {
		return nil, err
	}
	if err = prepareTemplate(ctx, s.database); err != nil {
		return nil, err
	}
	if s.memory, err = startPostgres(ctx, filepath.Join(dir, "memory"), nil); err != nil {
		return nil, err
	}
	err = s.startTemporal(ctx)
	return s, err
}

// withTemporal returns the stack with another Temporal, on a separate database.
func (s *stack) withTemporal(t testing.TB, memory *postgres) *stack {
	t.Helper()
	other := s.preparedFor(t, memory)
	other.resumeTemporal(t)
	return other
}

// preparedFor returns the stack with another Temporal that isn't running yet, on a separate database.
func (s *stack) preparedFor(t testing.TB, memory *postgres) *stack {
	t.Helper()
	dir, err := stacktest.TempDir("chaos-temporal")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	other := &stack{dir: dir, database: s.database, memory: memory, dynamic: filepath.Join(dir, "dynamicconfig.yaml")}
	require.NoError(t, other.startTemporal(t.Context()))
	t.Cleanup(other.killTemporal)
	return other
}

// resumeTemporal starts what is down or frozen of Temporal.
func (s *stack) resumeTemporal(t testing.TB) {
	t.Helper()
	for _, p := range s.others {
		p.thaw()
		p.launch(t)
	}
	s.temporal.thaw()
	s.temporal.start(t)
}

func (s *stack) killTemporal() {
	for _, p := range append([]*process{s.temporal}, s.others...) {
		p.thaw()
		p.kill()
	}
}

// prepareTemplate creates the template of the scenarios' databases.
func prepareTemplate(ctx context.Context, p *postgres) error {
	if err := p.server.CreateDatabase(ctx, template); err != nil {
		return err
	}
	return migrations.Up(ctx, p.url(template))
}

// startTemporal links Temporal to its database. It lets the dev stack create the schema, the configuration and the namespace, and
// then runs the server as a separate process, which can start in any order and isn't restarted after a signal.
func (s *stack) startTemporal(ctx context.Context) (err error) {
	if s.store, err = newLink("temporal-to-its-database", hostOf(s.memory.url("postgres"))); err != nil {
		return err
	}
	deployed, err := os.ReadFile(filepath.Join(root, "deploy", "temporal", "dynamicconfig.yaml"))
	if err != nil {
		return err
	}
	s.overrides = string(deployed) + quickly
	if err := s.configure(""); err != nil {
		return err
	}
	dir, bin := filepath.Join(s.dir, "temporal"), filepath.Join(root, "bin")
	server, err := temporalserver.Start(ctx, temporalserver.Options{
		Bin: bin, Dir: dir, Store: s.store.through(s.memory.url("postgres")), Shards: 16, DynamicConfig: s.dynamic,
		Log: quiet,
	})
	if err != nil {
		return err
	}
	s.address = server.Address()
	stop, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := server.Stop(stop); err != nil {
		return err
	}
	s.temporal = &process{name: "temporal", log: logPath(s.dir, "temporal"), ready: s.pingTemporal, command: func() *exec.Cmd {
		c := exec.Command(filepath.Join(bin, "temporal-server"), "--config-file", filepath.Join(dir, "temporal.yaml"),
			"--allow-no-auth", "start")
		c.Env = cleanEnvironment()
		return c
	}}
	return nil
}

// configure writes Temporal's dynamic configuration: deploy's plus more. The server reloads it every 10 s.
func (s *stack) configure(more string) error {
	return os.WriteFile(s.dynamic, []byte(s.overrides+more), 0o644)
}

// pingTemporal makes a call that involves each of its services.
func (s *stack) pingTemporal(ctx context.Context) error {
	c, err := s.dial("default")
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.CheckHealth(ctx, &sdk.CheckHealthRequest{}); err != nil {
		return err
	}
	_, err = c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: "default"})
	if err != nil {
		return err
	}
	_, err = c.DescribeTaskQueue(ctx, "none", enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	return err
}

func (s *stack) dial(namespace string) (sdk.Client, error) {
	return sdk.NewLazyClient(sdk.Options{HostPort: s.address, Namespace: namespace, Logger: log.NewStructuredLogger(quiet)})
}

// heal restores what a scenario has left down.
func (s *stack) heal(t testing.TB) {
	t.Helper()
	s.database.start(t)
	s.memory.start(t)
	s.store.heal(t)
	s.resumeTemporal(t)
}

func (s *stack) remove() {
	if s.temporal != nil {
		s.killTemporal()
	}
	for _, p := range []*postgres{s.memory, s.database} {
		if p != nil {
			p.kill()
		}
	}
	_ = os.RemoveAll(s.dir)
}

// cleanEnvironment returns the tests' environment without variables that would point Holdfast elsewhere.
func cleanEnvironment() (kept []string) {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if name != "DATABASE_URL" && !strings.HasPrefix(name, "TEMPORAL_") && !strings.HasPrefix(name, "HOLDFAST_") &&
			!strings.HasPrefix(name, "OTEL_") {
			kept = append(kept, variable)
		}
	}
	return kept
}
