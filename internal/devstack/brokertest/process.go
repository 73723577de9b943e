// Package brokertest starts message brokers for tests: NATS with JetStream, a stand-in for Google Pub/Sub and an emulator of SQS
// in separate processes, RabbitMQ as Debian packages it, and a stand-in for Kafka inside the test.
package brokertest

import (
	"net"
	"os"
	"os/exec"
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
	environ []string // of RabbitMQ's programs
}

// startTimeout is long for a busy machine.
const startTimeout = 5 * time.Minute

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

// FreeAddress returns a host:port on which nothing listens.
func FreeAddress(t *testing.T) string {
	t.Helper()
	return local(freePort(t))
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// folder isn't t.TempDir: a killed server may still write when that is removed.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "holdfast-broker-") //nolint:usetesting // as above
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
