// Package brokertest starts message brokers for tests: NATS with JetStream in a process of its own, RabbitMQ as Debian packages
// it, and a stand-in for Kafka inside the test.
package brokertest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/child"
)

// Broker is a broker whose process can be killed and started again on the same data.
type Broker struct {
	// Address is host:port.
	Address string
	command func() *exec.Cmd
	running *exec.Cmd
}

// startTimeout is long for a busy machine.
const startTimeout = 2 * time.Minute

// Kill ends the broker at once, as kill -9 does.
func (b *Broker) Kill(t *testing.T) {
	t.Helper()
	require.NoError(t, b.running.Process.Kill())
	_ = b.running.Wait() // it was killed
	b.running = nil
}

// Start starts the broker, and waits until it accepts connections.
func (b *Broker) Start(t *testing.T) {
	t.Helper()
	b.running = b.command()
	child.Prepare(b.running, syscall.SIGKILL, nil)
	require.NoError(t, b.running.Start())
	await(t, b.Address)
}

func await(t *testing.T, address string) {
	t.Helper()
	require.Eventually(t, func() bool {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, startTimeout, 50*time.Millisecond, "nothing listens on %s", address)
}

func start(t *testing.T, address string, command func() *exec.Cmd) *Broker {
	t.Helper()
	b := &Broker{Address: address, command: command}
	b.Start(t)
	t.Cleanup(func() {
		if b.running != nil {
			b.Kill(t)
		}
	})
	return b
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of "tcp"
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// rabbitProgram is where Debian's package has it; the one in /usr/sbin changes the user.
const rabbitProgram = "/usr/lib/rabbitmq/bin/rabbitmq-server"

// RabbitMQ starts a RabbitMQ whose user guest has the password guest, or skips the test. Its name server has a port of its own.
func RabbitMQ(t *testing.T) *Broker {
	t.Helper()
	if _, err := os.Stat(rabbitProgram); err != nil {
		if os.Getenv("NO_SKIP") != "" {
			t.Fatal("there is no RabbitMQ on this machine: apt-get install rabbitmq-server")
		}
		t.Skip("there is no RabbitMQ on this machine: apt-get install rabbitmq-server")
	}
	dir := folder(t)
	plugins, names, clients := filepath.Join(dir, "plugins"), freePort(t), freePort(t)
	require.NoError(t, os.WriteFile(plugins, []byte("[].\n"), 0o600))
	environ := append(os.Environ(), "HOME="+dir, "ERL_EPMD_ADDRESS=127.0.0.1", "ERL_EPMD_PORT="+strconv.Itoa(names),
		fmt.Sprintf("RABBITMQ_NODENAME=test%d@localhost", clients), "RABBITMQ_NODE_IP_ADDRESS=127.0.0.1",
		"RABBITMQ_NODE_PORT="+strconv.Itoa(clients), "RABBITMQ_DIST_PORT="+strconv.Itoa(freePort(t)),
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1} +S 1:1",
		"RABBITMQ_MNESIA_BASE="+filepath.Join(dir, "data"), "RABBITMQ_LOG_BASE="+dir, "RABBITMQ_ENABLED_PLUGINS_FILE="+plugins,
		"RABBITMQ_CONFIG_FILE="+filepath.Join(dir, "none"), "RABBITMQ_CONF_ENV_FILE=/dev/null",
		"RUNNING_UNDER_SYSTEMD=true", // replaces the shell by the server, so that a kill reaches it
	)
	command := func(name string, args ...string) func() *exec.Cmd {
		return func() *exec.Cmd {
			cmd := exec.Command(name, args...)
			cmd.Env = environ
			return cmd
		}
	}
	start(t, local(names), command("epmd"))
	return start(t, local(clients), command(rabbitProgram))
}

// folder isn't t.TempDir: a killed server may still write when that is removed.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "holdfast-broker-") //nolint:usetesting // as above
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
