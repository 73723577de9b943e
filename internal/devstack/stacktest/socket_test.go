package stacktest

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Go's remembered results stay valid from one command to the next, also after one that was killed. Commands that run at once each
// have their own servers.
func TestTheNextCommandHasTheSameSocket(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	first, err := socketDir()
	require.NoError(t, err)
	listener, err := net.Listen("unix", filepath.Join(first, socketName))
	require.NoError(t, err)
	another, err := socketDir()
	require.NoError(t, err)
	require.NotEqual(t, first, another)
	require.NoError(t, listener.Close())
	next, err := socketDir()
	require.NoError(t, err)
	require.Equal(t, first, next)
}
