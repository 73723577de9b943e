package proxy_test

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The kernel probes kept connections to a proxy as those to endpoints, so that one whose network has gone isn't used for long.
func TestConnectionsToAProxyAreProbed(t *testing.T) {
	t.Parallel()
	p := serve(t, "http", answering(""))
	conn, err := p.Dial(t.Context(), "got:2", 0)
	require.NoError(t, err)
	defer func(c net.Conn) { _ = c.Close() }(conn)
	raw, err := conn.(syscall.Conn).SyscallConn()
	require.NoError(t, err)
	for name, option := range map[string][3]int{
		"probes":                     {unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		"time until the first, in s": {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 15},
		"time between them, in s":    {unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 5},
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
