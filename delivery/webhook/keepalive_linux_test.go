package webhook

import (
	"net"
	"net/netip"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The kernel probes idle connections, so that one whose network has gone isn't used for the next attempt.
func TestIdleConnectionsAreProbed(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	conn, err := newDialer(guard{allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}).
		DialContext(t.Context(), "tcp", listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	raw, err := conn.(syscall.Conn).SyscallConn()
	require.NoError(t, err)
	for name, option := range map[string][3]int{
		"probes":                     {unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		"time until the first, in s": {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, int(pingAfter.Seconds())},
		"time between them, in s":    {unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, int(connectTimeout.Seconds())},
		"probes without an answer":   {unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 2},
	} {
		var value int
		require.NoError(t, raw.Control(func(socket uintptr) {
			value, err = unix.GetsockoptInt(int(socket), option[0], option[1])
		}))
		require.NoError(t, err, name)
		require.Equal(t, option[2], value, name)
	}
}
