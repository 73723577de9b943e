package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"holdfast/internal/devstack/child"
)

func endTemporal(ctx context.Context, pidFile string) error {
	pid := child.ReadNumber(pidFile)
	running := func() []int {
		if pid > 0 && isServer(pid, pidFile) {
			return []int{pid}
		}
		return nil
	}
	ended := child.EndProcesses(ctx, running(), syscall.SIGTERM, running, 10*time.Second) ||
		child.EndProcesses(ctx, running(), syscall.SIGKILL, running, 5*time.Second)
	if !ended {
		return fmt.Errorf("end the Temporal that an earlier run left behind: process %d does not end", pid)
	}
	if err := os.Remove(pidFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// isServer reports whether a process is the server of the pid file. The ID alone isn't enough, because it may belong to another
// process by now; so the second line of the file is the command line that the process must have.
func isServer(pid int, pidFile string) bool {
	raw, err := os.ReadFile(pidFile)
	if err != nil {
		return false
	}
	_, recorded, _ := strings.Cut(strings.TrimSpace(string(raw)), "\n")
	return recorded != "" && child.CommandLine(pid) == recorded
}

// writePID takes the arguments from the command, because the system may not show them yet.
func writePID(pidFile string, cmd *exec.Cmd) error {
	content := fmt.Sprintf("%d\n%s\n", cmd.Process.Pid, strings.Join(cmd.Args, " "))
	return os.WriteFile(pidFile, []byte(content), 0o644)
}
