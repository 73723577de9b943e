package postgres

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The kernel ends a connection whose peer acknowledges nothing, and probes an idle one.
func TestADeadPeerIsNoticed(t *testing.T) {
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
