package postgres

import (
	"errors"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitUnacknowledged ends a connection whose data the peer doesn't acknowledge for deadAfter (tcp(7), TCP_USER_TIMEOUT).
func limitUnacknowledged(network, _ string, c syscall.RawConn) (err error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	failed := c.Control(func(socket uintptr) {
		err = unix.SetsockoptInt(int(socket), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadAfter.Milliseconds()))
	})
	return errors.Join(failed, err)
}
