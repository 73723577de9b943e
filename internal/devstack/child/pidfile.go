package child

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ReadNumber returns the number in the first line of a file, or 0.
func ReadNumber(path string) int {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	n, _ := strconv.Atoi(strings.TrimSpace(line))
	return max(n, 0)
}

// EndProcesses sends the signal to each process and waits until alive reports none, or for at most the given time.
func EndProcesses(ctx context.Context, pids []int, sig syscall.Signal, alive func() []int, limit time.Duration) bool {
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig) // it may have ended in the meantime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for len(alive()) > 0 {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}
