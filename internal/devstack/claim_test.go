package devstack

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestADirectoryIsClaimedByOneProcessAtATime(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), ".holdfast")
	claimed, err := Claim(t.Context(), dir)
	require.NoError(t, err)

	_, err = Claim(t.Context(), dir)
	var running *AlreadyRunningError
	require.ErrorAs(t, err, &running)
	require.Equal(t, os.Getpid(), running.PID)

	claimed.Release()
	again, err := Claim(t.Context(), dir)
	require.NoError(t, err)
	again.Release()
}
