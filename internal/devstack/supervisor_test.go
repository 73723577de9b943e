package devstack

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The dev stack itself is killed with `kill -9`: its servers end too, and the next run takes over what they left.
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
	_ = parent.Wait() // the exit status of what was killed says nothing

	eventually(t, "the servers end", func() bool {
		return commandLine(postgres) == "" && commandLine(temporal) == ""
	})
	claimed, err := Claim(t.Context(), dir)
	require.NoError(t, err)
	defer claimed.Release()
	require.NoError(t, startPostgres(t, filepath.Join(dir, PostgresDir)).Ping(t.Context()))
	require.NoError(t, startTemporal(t, TemporalOptions{Dir: filepath.Join(dir, TemporalDir)}).Ping(t.Context()))
}

// Everything is killed at once, as by the kernel when memory runs out.
func TestStartAfterEverythingWasKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	parent, postgres, temporal := startParent(t, dir)
	for _, pid := range []int{parent.Process.Pid, postgres, temporal} {
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	_ = parent.Wait() // the exit status of what was killed says nothing
	claimed, err := Claim(t.Context(), dir)
	require.NoError(t, err)
	defer claimed.Release()
	require.NoError(t, startPostgres(t, filepath.Join(dir, PostgresDir)).Ping(t.Context()))
	require.NoError(t, startTemporal(t, TemporalOptions{Dir: filepath.Join(dir, TemporalDir)}).Ping(t.Context()))
}

// A server that dies again and again before it answers is given up, and the reason can be asked for.
func TestSupervisorGivesUp(t *testing.T) {
	t.Parallel()
	starts := 0
	var failing atomic.Bool
	s := &supervisor{
		name: "a program that fails",
		command: func() *exec.Cmd {
			if starts++; starts == 1 {
				return exec.Command("sleep", "600")
			}
			return exec.Command("sh", "-c", "exit 3")
		},
		clean:   func(context.Context) error { return nil },
		backoff: time.Microsecond,
		log:     quiet,
	}
	s.ready = func(context.Context) error {
		if failing.Load() {
			return errors.New("not ready")
		}
		return nil
	}
	require.NoError(t, s.start(t.Context()))
	failing.Store(true)
	require.NoError(t, syscall.Kill(s.pid(), syscall.SIGKILL))
	<-s.done
	require.ErrorContains(t, s.failure(), "exit status 3")
	require.Equal(t, 1+maxFailures, starts)
}

func processGroup(t *testing.T, pid int) int {
	t.Helper()
	group, err := syscall.Getpgid(pid)
	require.NoError(t, err)
	return group
}
