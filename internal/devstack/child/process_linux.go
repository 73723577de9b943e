package child

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// CommandLine is what a process was started with, arguments separated by spaces; "" when there is no such process.
func CommandLine(pid int) string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return string(bytes.ReplaceAll(bytes.TrimRight(raw, "\x00"), []byte{0}, []byte{' '}))
}

// PostgresProcesses are the processes of a server over the data directory: the postmaster and its backends, which may
// outlive it for a moment. All of them work in the data directory, so that is how to find them.
func PostgresProcesses(data string) []int {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	var pids []int
	for _, dir := range dirs {
		cwd, err := os.Readlink(filepath.Join(dir, "cwd"))
		if err != nil || cwd != data {
			continue
		}
		if name, err := os.ReadFile(filepath.Join(dir, "comm")); err != nil || string(name) != "postgres\n" {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && !isZombie(dir) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// isZombie says whether a process has ended and only waits for its parent to notice.
func isZombie(dir string) bool {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return true
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	return bytes.HasPrefix(rest, []byte("Z"))
}
