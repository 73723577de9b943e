package operatorapi

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/test/bufconn"
)

// A server that is shut down ends without an error, which a command would print.
func TestAClosedListenerInMemorySaysSo(t *testing.T) {
	t.Parallel()
	l := memory{bufconn.Listen(1)}
	require.NoError(t, l.Close())
	_, err := l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}
