package devstack

import (
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/child"
)

// The dev stack itself is killed with `kill -9`: its servers end too, and the next run reuses their data.
func TestServersDieWithUs(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has a parent death signal; elsewhere the next start ends the servers")
	}
	dir := t.TempDir()
	parent, postgres, temporal := startParent(t, dir)
	require.Equal(t, postgres, processGroup(t, postgres), "Ctrl-C on the terminal must not reach the servers")
	require.Equal(t, temporal, processGroup(t, temporal))
	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait() // a killed process's exit status is irrelevant

	eventually(t, "the servers end", func() bool {
		return child.CommandLine(postgres) == "" && child.CommandLine(temporal) == ""
	})
	claimed, err := Claim(t.Context(), dir)
	require.NoError(t, err)
	defer claimed.Release()
	require.NoError(t, startPostgres(t, filepath.Join(dir, PostgresDir)).Ping(t.Context()))
	require.NoError(t, startTemporal(t, TemporalOptions{Dir: filepath.Join(dir, TemporalDir)}).Ping(t.Context()))
}

// All processes are killed at once, as by the kernel when it is out of memory.
func TestStartAfterEverythingWasKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	parent, postgres, temporal := startParent(t, dir)
	for _, pid := range []int{parent.Process.Pid, postgres, temporal} {
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	_ = parent.Wait() // a killed process's exit status is irrelevant
	claimed, err := Claim(t.Context(), dir)
	require.NoError(t, err)
	defer claimed.Release()
	require.NoError(t, startPostgres(t, filepath.Join(dir, PostgresDir)).Ping(t.Context()))
	require.NoError(t, startTemporal(t, TemporalOptions{Dir: filepath.Join(dir, TemporalDir)}).Ping(t.Context()))
}

func processGroup(t *testing.T, pid int) int {
	t.Helper()
	group, err := syscall.Getpgid(pid)
	require.NoError(t, err)
	return group
}
