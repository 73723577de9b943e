package postgres

import (
	"net"
	"time"
)

// A peer that doesn't answer, because its machine or the network died, is noticed after deadAfter: while data wait for it by the
// kernel's timeout for unacknowledged data, which only Linux has, and while the connection is idle by keepalive probes. Without
// them it took 15 min 38 s, and 2 min 31 s (docs/internals/test-record.md).
const deadAfter = 20 * time.Second

// newDialer returns the dialer for connections to the server.
func newDialer() *net.Dialer {
	return &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: deadAfter / 2, Interval: deadAfter / 6, Count: 3},
		Control:         limitUnacknowledged,
	}
}
