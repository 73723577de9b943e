package postgres

import (
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The kernel is asked to end a connection whose peer acknowledges nothing, and to probe an idle one.
func TestConnectionsHaveTheirLimits(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	conn, err := newDialer().DialContext(t.Context(), "tcp", listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	raw, err := conn.(syscall.Conn).SyscallConn()
	require.NoError(t, err)
	for name, option := range map[string][3]int{
		"unacknowledged data, in ms": {unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadAfter.Milliseconds())},
		"probes of an idle one":      {unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		"time until the first, in s": {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, int(deadAfter.Seconds() / 2)},
		"probes without an answer":   {unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3},
	} {
		var value int
		require.NoError(t, raw.Control(func(socket uintptr) {
			value, err = unix.GetsockoptInt(int(socket), option[0], option[1])
		}))
		require.NoError(t, err, name)
		require.Equal(t, option[2], value, name)
	}
}

// When all packets are lost, a connection ends on time, whether data wait for the peer or it is idle.
func TestADeadPeerIsNoticed(t *testing.T) {
	t.Parallel()
	enterOwnNetwork(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	ended := map[string]chan error{}
	conns := map[string]net.Conn{}
	for _, kind := range []string{"with data", "idle"} {
		conns[kind], err = newDialer().DialContext(t.Context(), "tcp", listener.Addr().String())
		require.NoError(t, err)
		defer conns[kind].Close()
		peer, err := listener.Accept()
		require.NoError(t, err)
		defer peer.Close()
	}

	execute(t, "nft", "add table ip lost; add chain ip lost in { type filter hook input priority 0; policy drop; }")
	began := time.Now()
	_, err = conns["with data"].Write([]byte("SELECT 1"))
	require.NoError(t, err)
	for kind, conn := range conns {
		require.NoError(t, conn.SetReadDeadline(began.Add(2*deadAfter)))
		end := make(chan error, 1)
		ended[kind] = end
		go func() {
			_, err := conn.Read(make([]byte, 1))
			t.Logf("%s: ended after %s: %v", kind, time.Since(began).Round(time.Second/10), err)
			end <- err
		}()
	}
	for kind, end := range ended {
		assert.ErrorIs(t, <-end, syscall.ETIMEDOUT, kind)
	}
}

// enterOwnNetwork moves the goroutine's thread into a new network namespace, whose packets can be dropped.
func enterOwnNetwork(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("nft"); err != nil || os.Geteuid() != 0 {
		t.Skip("only root can drop packets, with nft")
	}
	runtime.LockOSThread() // the thread ends with the test
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("no network namespace: %v", err)
	}
	execute(t, "ip", "link", "set", "lo", "up")
}

func execute(t *testing.T, program string, args ...string) {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	require.NoError(t, err, string(out))
}
