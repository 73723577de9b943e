package child

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCheckPortsNamesWhoHasThem(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/net/tcp"); err != nil {
		t.Skip("no /proc/net/tcp here, so the owner of a port cannot be known for sure")
	}
	first, second := listen(t), listen(t)
	free, err := FreePort()
	require.NoError(t, err)
	err = CheckPorts(
		Port{Number: first, Purpose: "ingress", Change: "HOLDFAST_INGRESS_ADDR"},
		Port{Number: free, Purpose: "operator", Change: "HOLDFAST_OPERATOR_ADDR"},
		Port{Number: second, Purpose: "Temporal Web", Change: "--ui-port"},
	)
	var taken *PortInUseError
	require.ErrorAs(t, err, &taken)
	require.Equal(t, os.Getpid(), taken.PID)
	require.Equal(t, PortInUseError{
		Port: first, Purpose: "ingress", Owner: taken.Owner, PID: os.Getpid(), Change: "HOLDFAST_INGRESS_ADDR",
	}, *taken)
	require.Equal(t, "child.test", taken.Owner)
	require.ErrorContains(t, err, "Temporal Web")
	require.ErrorContains(t, err, "choose another with --ui-port")
	require.NotContains(t, err.Error(), "operator")
}

// A process being started has its parent's sockets for a moment.
func TestAPortThatIsTakenForAMomentIsFree(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	time.AfterFunc(50*time.Millisecond, func() { _ = listener.Close() })
	require.NoError(t, CheckPorts(Port{Number: listener.Addr().(*net.TCPAddr).Port, Purpose: "ingress"}))
}

func TestCheckPortsIsSilentAboutFreePorts(t *testing.T) {
	t.Parallel()
	free, err := FreePort()
	require.NoError(t, err)
	require.NoError(t, CheckPorts(Port{Number: free, Purpose: "ingress"}))
}

func listen(t *testing.T) (port int) {
	t.Helper()
	listener, err := net.Listen("tcp", Loopback+":0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().(*net.TCPAddr).Port
}
