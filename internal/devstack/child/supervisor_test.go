package child

import (
	"context"
	"errors"
	"log/slog"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A server that repeatedly dies before it answers is given up, and Failure returns the reason.
func TestSupervisorGivesUp(t *testing.T) {
	t.Parallel()
	starts := 0
	var failing atomic.Bool
	s := &Supervisor{
		Name: "a program that fails",
		Command: func() *exec.Cmd {
			if starts++; starts == 1 {
				return exec.Command("sleep", "600")
			}
			return exec.Command("sh", "-c", "exit 3")
		},
		Backoff: time.Microsecond,
		Log:     slog.New(slog.DiscardHandler),
	}
	s.Ready = func(context.Context) error {
		if failing.Load() {
			return errors.New("not ready")
		}
		return nil
	}
	require.NoError(t, s.Start(t.Context()))
	failing.Store(true)
	require.NoError(t, syscall.Kill(s.PID(), syscall.SIGKILL))
	<-s.done
	require.ErrorContains(t, s.Failure(), "exit status 3")
	require.Equal(t, 1+maxFailures, starts)
}
