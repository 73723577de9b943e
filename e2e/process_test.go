package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/stacktest"
)

// installation is one Holdfast: a database, a namespace of Temporal, and the processes that a test starts on them.
type installation struct {
	database  string
	namespace string
	env       []string
	server    temporalServer // nil for commands that need none
	reading   reading
}

// temporal is the address of its Temporal.
func (i *installation) temporal() string {
	if i.server == nil {
		return "127.0.0.1:1"
	}
	return i.server.Address()
}

// newInstallation has its own namespace, because workers of two installations would take each other's events.
func newInstallation(t *testing.T, env ...string) *installation {
	t.Helper()
	i := installationOn(t, cluster.Database(t), env...)
	out, err := i.run(t, "migrate")
	require.NoError(t, err, out)
	return i
}

// installationOn has a database that may have no tables.
func installationOn(t *testing.T, database string, env ...string) *installation {
	t.Helper()
	server := temporal.use(t)
	return &installation{database: database, server: server, namespace: createNamespace(t, server), env: env}
}

// node is one process of an installation.
type node struct {
	command  *exec.Cmd
	ingress  string // base URL of the public port
	operator string // base URL of the operator port
	log      *syncBuffer
	exited   chan struct{}
}

// secret signs what the tests send.
const secret = "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz"

// patience is how long an answer waits for Temporal, so that on a busy machine an event is started rather than spooled.
var patience = []string{
	"HOLDFAST_INGRESS_ACK_BUDGET=15s", "HOLDFAST_INGRESS_START_TIMEOUT=20s", "HOLDFAST_INGRESS_HANDLER_BUDGET=25s",
	"HOLDFAST_INGRESS_SHUTDOWN_GRACE=30s",
}

// impatience restores the defaults, for tests of the inbox.
var impatience = []string{
	"HOLDFAST_INGRESS_ACK_BUDGET=400ms", "HOLDFAST_INGRESS_START_TIMEOUT=2s", "HOLDFAST_INGRESS_HANDLER_BUDGET=3s",
	"HOLDFAST_INGRESS_SHUTDOWN_GRACE=10s",
}

func (i *installation) environment(env ...string) []string {
	all := append(cleanEnvironment(),
		"DATABASE_URL="+i.database,
		"TEMPORAL_ADDRESS="+i.temporal(),
		"TEMPORAL_NAMESPACE="+i.namespace,
		"STRIPE_WEBHOOK_SECRET="+secret,
		"STANDARD_WEBHOOKS_SECRET="+secret,
		"HOLDFAST_WORKER_GRACE=5s",
	)
	all = append(all, patience...)
	return append(append(all, i.env...), env...)
}

// cleanEnvironment returns the tests' environment without variables that would point Holdfast elsewhere.
func cleanEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return name == "DATABASE_URL" || strings.HasPrefix(name, "TEMPORAL_") || strings.HasPrefix(name, "HOLDFAST_") ||
			strings.HasPrefix(name, "OTEL_")
	})
}

// start runs a role and waits until it is ready.
func (i *installation) start(t *testing.T, role string, env ...string) *node {
	t.Helper()
	n := i.launch(t, role, env...)
	n.awaitReady(t)
	return n
}

// launchProcess runs a role without waiting.
func (i *installation) launch(t *testing.T, role string, env ...string) *node {
	t.Helper()
	return launchProcess(t, role, i.environment(env...))
}

// launchProcess runs a role in exactly this environment, except for the ports to listen on.
func launchProcess(t *testing.T, role string, env []string, flags ...string) *node {
	t.Helper()
	return launchProgram(t, holdfast, role, env, flags...)
}

// launchProgram is launch with another build.
func launchProgram(t *testing.T, program, role string, env []string, flags ...string) *node {
	t.Helper()
	ports := freePorts(t, 2)
	n := &node{
		command:  exec.Command(program, append([]string{role}, flags...)...),
		ingress:  "http://" + ports[0],
		operator: "http://" + ports[1],
		log:      &syncBuffer{},
		exited:   make(chan struct{}),
	}
	n.command.Env = append(env, "HOLDFAST_INGRESS_ADDR="+ports[0], "HOLDFAST_OPERATOR_ADDR="+ports[1])
	n.command.Stdout, n.command.Stderr = n.log, n.log
	require.NoError(t, n.command.Start())
	go func() {
		_ = n.command.Wait()
		close(n.exited)
	}()
	t.Cleanup(func() {
		n.kill()
		if t.Failed() {
			t.Logf("the log of %s is in %s; its end:\n%s", role, n.log.keep(t, role), n.log.tail(5))
		}
	})
	return n
}

func (n *node) awaitReady(t *testing.T) {
	t.Helper()
	eventually(t, time.Minute, "the process is ready", func() error {
		select {
		case <-n.exited:
			require.FailNow(t, "the process has ended", n.log.tail(30))
		default:
		}
		response, err := client.Get(n.operator + "/readyz")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("readyz answers %s", response.Status)
		}
		return nil
	})
}

// kill ends the process as a crash would.
func (n *node) kill() {
	_ = n.command.Process.Kill()
	<-n.exited
}

// terminate asks the process to end, and waits until it has ended.
func (n *node) terminate(t *testing.T) {
	t.Helper()
	require.NoError(t, n.command.Process.Signal(syscall.SIGTERM))
	select {
	case <-n.exited:
	case <-time.After(30 * time.Second):
		require.FailNow(t, "the process does not end", n.log.tail(30))
	}
}

// run runs a command of the binary and returns its output.
func (i *installation) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return i.runWith(t, nil, args...)
}

// runWith is run with additional variables.
func (i *installation) runWith(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	command := exec.Command(holdfast, args...)
	command.Env = i.environment(env...)
	out, err := command.CombinedOutput()
	return string(out), err
}

func freePorts(t *testing.T, n int) (addresses []string) {
	t.Helper()
	ports, err := stacktest.FreePorts(n)
	require.NoError(t, err)
	for _, port := range ports {
		addresses = append(addresses, "127.0.0.1:"+port)
	}
	return addresses
}

// busy is the factor for all time limits on a busy machine.
const busy = 3

// eventually polls until check returns nil. The limit is for an idle machine.
func eventually(t *testing.T, limit time.Duration, what string, check func() error) {
	t.Helper()
	limit *= busy
	deadline := time.Now().Add(limit)
	var err error
	for time.Now().Before(deadline) {
		began := time.Now()
		if err = check(); err == nil {
			return
		}
		time.Sleep(max(50*time.Millisecond, 2*time.Since(began))) // a check that runs a command takes time from what it waits for
	}
	require.FailNow(t, fmt.Sprintf("after %s, not yet: %s", limit, what), "%v", err)
}

// syncBuffer is a buffer that a process may write to while a test reads it.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// tail returns the beginnings of the last lines: a failure message must stay readable.
func (s *syncBuffer) tail(n int) string {
	lines := strings.Split(strings.TrimSpace(s.String()), "\n")
	lines = lines[max(0, len(lines)-n):]
	for i, line := range lines {
		lines[i] = line[:min(len(line), 400)]
	}
	return strings.Join(lines, "\n")
}

// keep writes the buffer to a file that outlives the test.
func (s *syncBuffer) keep(t *testing.T, name string) string {
	t.Helper()
	file, err := os.CreateTemp("", "holdfast-"+name+"-*.log") //nolint:usetesting // that directory does not outlive the test
	if err == nil {
		_, err = file.WriteString(s.String())
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return err.Error()
	}
	return file.Name()
}

// metrics returns the text for Prometheus, without the scopes that OpenTelemetry adds.
func (n *node) metrics(t *testing.T) string {
	t.Helper()
	response, err := client.Get(n.operator + "/metrics")
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(text)
}
