package child

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"
)

// CommandLine returns a process's command line, arguments separated by spaces; "" if there is no such process.
func CommandLine(pid int) string {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return ""
	}
	line, _ := p.Cmdline()
	return line
}

// PostgresProcesses returns the processes of a server over the data directory: the postmaster and its backends, which may
// outlive it for a moment. They are found by their working directory.
func PostgresProcesses(data string) (pids []int) {
	all, _ := process.Processes()
	for _, p := range all {
		if dir, err := p.Cwd(); err != nil || dir != data {
			continue
		}
		name, _ := p.Name()
		status, err := p.Status()
		if err == nil && name == "postgres" && !slices.Contains(status, process.Zombie) {
			pids = append(pids, int(p.Pid))
		}
	}
	return pids
}

// portOwner returns the process that listens on a TCP port, or 0, "" (other users' sockets need root).
func portOwner(port int) (pid int, name string) {
	all, _ := net.Connections("tcp")
	for _, c := range all {
		if c.Status != "LISTEN" || int(c.Laddr.Port) != port || c.Pid == 0 {
			continue
		}
		p, err := process.NewProcess(c.Pid)
		if err != nil {
			continue
		}
		name, _ := p.Name()
		return int(c.Pid), name
	}
	return 0, ""
}

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
